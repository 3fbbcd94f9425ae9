"""What a chapter's page of the book ends with: a report that failed, and one that passed."""

import ast
import re
import runpy

import pytest
import torch
from graded_kernels.autograder import check
from graded_kernels.course.build import ROOT

EXAMPLES = runpy.run_path(str(ROOT / "book" / "example_reports.py"))
CHAPTERS = sorted((ROOT / "course" / "chapters").glob("*.md"))


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_has_an_example(chapter):
    story, failed, repair, _, passed = EXAMPLES["cells"](chapter)
    assert story.source.startswith(EXAMPLES["HEADING"])
    assert "check(" in failed.source and "check(" in passed.source
    assert len(repair.source) > len("The hints of this exercise say how to repair it: ")


@pytest.mark.exhaustive
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_it_fails_and_ours_passes(chapter):
    _, failed, _, _, passed = EXAMPLES["cells"](chapter)
    assert not report(failed.source)
    assert report(passed.source)


def report(source: str):
    """What the cell ends with."""
    *before, last = ast.parse(source).body
    namespace = {"check": check, "torch": torch}
    exec(compile(ast.Module(before, []), "<cell>", "exec"), namespace)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)


def test_the_cell_on_the_books_front_page_names_the_bug(capsys):
    page = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
    cell = re.search(r"```python\n%pip install --quiet THE ADDRESS\n(.*?)```", page, re.DOTALL)[1]
    *lines, last = cell.rstrip().splitlines()
    exec("\n".join([*lines, f"print({last})"]), {})
    printed = capsys.readouterr().out
    assert "silu_backward (torch): not passed" in printed
    assert "This is what candle 0.4.1-0.5.0 computed" in printed
