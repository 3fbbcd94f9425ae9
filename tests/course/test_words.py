"""The glossary: every word is linked by a chapter, every link leads to the notebook's own section."""

import json
import re

import pytest
from graded_kernels.course import words
from graded_kernels.course.learner import ROOT

MEANINGS = words.glossary(ROOT)
CHAPTERS = sorted((ROOT / "course" / "chapters").glob("*.md"))


def test_about_sixty_words_are_explained_and_each_is_linked_by_a_chapter():
    assert 55 <= len(MEANINGS) <= 75
    linked = {word for path in CHAPTERS for word in words.LINK.findall(path.read_text(encoding="utf-8"))}
    assert linked == set(MEANINGS)


def test_words_are_in_order():
    assert list(MEANINGS) == sorted(MEANINGS, key=str.lower)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_notebook_has_the_words_that_it_links_to(chapter):
    notebook = (ROOT / "course" / "source" / chapter.stem / f"{chapter.stem}.ipynb").read_text(encoding="utf-8")
    texts = ["".join(cell["source"]) for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "markdown"]
    linked = re.findall(rf'\]\({words.ANCHOR} "([^:"]+): [^"]+"\)', "\n".join(texts))
    (section,) = (text for text in texts if text.startswith(f"## {words.HEADING}\n"))
    assert linked
    assert sorted(linked, key=str.lower) == [word for word, _ in words.ENTRY.findall(section.replace("- **", "**"))]
    assert "(word:" not in notebook


def test_a_tooltip_holds_nothing_that_markdown_reads():
    text, used = words.linked("a [warp](word:warp)", {"warp": 'a "thing" in `code`, *new*'})
    assert (text, used) == (f'a [warp]({words.ANCHOR} "warp: a thing in code, new")', ["warp"])


def test_a_chapter_without_words_has_no_section():
    assert words.section([], MEANINGS) == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("A [warp](word:wrap).", "course/WORDS.md has no word `wrap`"),
        ("A [warp](word:warp).\n\nTwo [warps](word:warp).", "`warp` is linked in line 3 already"),
    ],
)
def test_a_link_that_cannot_be_is_told_with_its_line(tmp_path, text, says):
    from graded_kernels.course.chapter_rules import breaches

    (tmp_path / "course" / "chapters").mkdir(parents=True)
    (tmp_path / "course" / "WORDS.md").write_text("**warp**: 32 threads.\n")
    chapter = tmp_path / "course" / "chapters" / "00_x.md"
    setup = "```{code-cell} python\nfrom graded_kernels.autograder import check\n```\n"
    chapter.write_text(f"# T\n\n{text}\n\n{setup}")
    assert [told for told in breaches({chapter: []}, tmp_path) if says in told]


def test_the_rules_stand_in_the_first_chapter_and_on_the_books_page():
    page = (ROOT / "book" / "words.md").read_text(encoding="utf-8")
    (start, end) = re.findall(r'^:(?:start-after|end-before): "(.+)"$', page, re.M)
    text = CHAPTERS[0].read_text(encoding="utf-8")
    rules = text[text.index(start) : text.index(end)]
    assert all(rule in rules for rule in ("NaN in gives NaN out", "*Portable*", "*Any strides*", "What is refused"))
