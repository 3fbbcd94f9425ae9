"""A learner's Markdown becomes a page in bounded time and of bounded size; what would take more is shown as typed."""

import pytest
from bounded import bounded
from graded_kernels.autograder.nbgrader.markdown import safe_markdown

SECONDS = 5  # of processor time for one cell


def render(source: str, attachments: dict | None = None) -> str:
    return safe_markdown({"cell": {"attachments": attachments or {}}}, source)


@pytest.mark.parametrize("marker", ["*", "_"])
def test_emphasis_that_never_closes_is_shown_as_typed(marker):
    source = f"{marker}a " * 3_300 + f"b{marker} " * 3_300
    assert bounded(lambda: render(source), SECONDS) == f"<pre>{source}</pre>"


def test_emphasis_of_an_ordinary_text_is_rendered():
    assert render("*a* " * 400).count("<em>a</em>") == 400


PICTURE = {"a.png": {"image/png": "A" * 1_000_000}}


@pytest.mark.parametrize("more, reference", [("", "![](attachment:a.png)"), ("\n\n[r]: attachment:a.png", "![r]")])
def test_a_picture_shown_many_times_does_not_fill_the_memory(more, reference):
    source = reference * 500 + more
    page = bounded(lambda: len(render(source, PICTURE)), memory=4 << 30)
    assert page < 20_000


def test_a_picture_is_shown():
    page = render("![my plot](attachment:a.png)", PICTURE)
    assert page.startswith("<p><img") and 'src="data:image/png;base64,AAAA' in page
