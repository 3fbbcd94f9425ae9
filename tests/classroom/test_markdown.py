"""A learner's Markdown becomes a page in bounded time and of bounded size; what would take more is shown as typed."""

import html
import json
import re
from pathlib import Path

import nbformat
import pytest
from bounded import bounded
from graded_kernels.autograder.classroom.nbgrader.code_colours import coloured
from graded_kernels.autograder.classroom.nbgrader.markdown import safe_markdown
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader.formgrader import FormgradeExtension
from traitlets.config import PyFileConfigLoader

ROOT = Path(__file__).resolve().parents[2]
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
    assert page.startswith("<p><img")
    assert 'src="data:image/png;base64,AAAA' in page


def test_mathematics_is_mathml_that_a_browser_draws_by_itself():
    page = render("where $x^2 < \\varepsilon$, so\n\n$$\\frac{a}{b}$$\n\n\\begin{matrix} a & b \\end{matrix}")
    assert page.count("<math ") == 3
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in page
    assert "<mfrac>" in page
    assert page.count('display="block"') == 2
    assert page.count('tabindex="0"') == 2  # a wide formula scrolls by the keyboard
    assert "<mtable" in page
    assert "$" not in page


def test_a_prime_is_no_superscript_of_a_superscript():
    """A browser without a font for mathematics shows it as a speck."""
    page = render("$s'(x) = F''(x)$")
    assert "<msup>" not in page
    assert "<mrow><mi>s</mi><mi>\N{PRIME}</mi></mrow>" in page
    assert "<mrow><mi>F</mi><mi>\N{DOUBLE PRIME}</mi></mrow>" in page


@pytest.mark.parametrize("latex", [r"\text{<script>alert(1)</script>}", r"\frac", "a" * 3_000, r"\sqrt{" * 900])
def test_what_is_no_mathematics_is_shown_as_typed(latex):
    assert bounded(lambda: render(f"${latex}$"), SECONDS) == f"<p><code>{html.escape(latex)}</code></p>\n"


@pytest.mark.parametrize(
    "latex", [r"\href{javascript:alert(1)}{x}", r"\style{background:url(//a)}{x}", r"\class{a}{x}"]
)
def test_a_formula_has_no_link_and_no_style(latex):
    page = render(f"${latex}$")
    assert "<mi>x</mi>" in page
    assert not any(part in page for part in ("javascript", "style=", "url", "class"))


def test_a_formula_within_code_stays_code():
    assert "<math" not in render("`$x$`")
    assert "<code>$x$</code>" in render("`$x$`")


@pytest.mark.exhaustive
def test_all_mathematics_of_the_chapters_converts():
    folder = Path(__file__).resolve().parents[2] / "course" / "source"
    texts = [
        "".join(cell["source"])
        for path in sorted(folder.glob("*/*.ipynb"))
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "markdown"
    ]
    pages = [render(text) for text in texts]
    assert sum(page.count("<math ") for page in pages) > 200
    assert not any(re.search(r"<code>[^<]*\\", page) for page in pages)


BLANK = "a = 1" + "\n\n\n " * 25_000 + "b = 2"
ONE_BY_ONE = ("@" * 6_000, "a." * 9_000, "{}" * 9_000, "%(" * 9_000, "x\n" + " " * 199 * 90, "class a" * 2_500)


@pytest.mark.parametrize("code", [BLANK, BLANK[:16_000], *ONE_BY_ONE], ids=lambda code: code[:9].strip())
def test_code_is_coloured_or_shown_as_typed_within_a_bound(code):
    """Pygments takes 40 seconds for a cell of blank lines; its page is written with those of the whole class."""
    page = bounded(lambda: coloured(code), SECONDS)
    assert html.unescape(re.sub("<[^>]*>", "", page)).strip() == code.strip()


def test_code_of_an_ordinary_cell_has_colours():
    assert '<span class="k">def</span>' in coloured("def f(x):\n    return x + 1")
    assert '<span class="k">def</span>' in render("```python\ndef f(x): ...\n```")


@pytest.mark.parametrize("lexer", ["autohotkey", "ipython3x", "html+jinja", "mermaid"])
def test_a_fence_of_another_language_has_none(lexer):
    """Of some 500 lexers a few take minutes for a text of the allowed length."""
    page = bounded(lambda: render(f"```{lexer}\n" + '%("' * 3_000 + "\n```"), SECONDS)
    assert page.startswith("<pre>") and "<span" not in page


def test_nbgrader_takes_these_filters():
    config = PyFileConfigLoader("nbgrader_config.py", str(ROOT / "course")).load_config()
    page, _ = HTMLExporter(filters=config.HTMLExporter.filters).from_notebook_node(
        nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(BLANK[:8_000])],
            metadata={"language_info": {"name": "python", "pygments_lexer": "autohotkey"}},
        )
    )
    assert "hl-ipython3" in page and "hl-autohotkey" not in page


def test_formgraders_page_needs_no_network():
    """Its template, with the settings of the course: mathematics is drawn, and no script comes from elsewhere."""
    config = FormgradeExtension().build_extra_config()
    config.merge(PyFileConfigLoader("nbgrader_config.py", path=str(ROOT / "course")).load_config())
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("where $x^2$")])
    page, _ = HTMLExporter(config=config).from_notebook_node(notebook, {"base_url": "", "index": 0, "total": 1})
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in page
    assert "formgrade.js" in page
    assert re.findall(r'<(?:script|img|link)[^>]*(?:src|href)="https?://[^"]*', page) == []
    assert page.index("window.MathJax = ") > 0  # which formgrade.js listens to
