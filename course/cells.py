"""Notebook cells with the metadata nbgrader wants, written by code so that nobody has to get it right by hand."""

import nbformat
from nbformat import NotebookNode

from ..autograder.classroom.nbgrader.rebuild import DEMONSTRATION
from ..autograder.classroom.nbgrader.solution_marks import BEGIN_GUIDE, END_GUIDE

SCHEMA_VERSION = 3


def prose(source: str, id: str) -> NotebookNode:
    """A cell of text, which is not graded."""
    cell: NotebookNode = nbformat.v4.new_markdown_cell(source, id=id)
    return cell


def demo(source: str, id: str) -> NotebookNode:
    """A cell of code to run and change, which is not graded and not run for an answer."""
    cell: NotebookNode = nbformat.v4.new_code_cell(source, id=id, metadata={"tags": [DEMONSTRATION]})
    return cell


def setup(source: str) -> NotebookNode:
    """The locked first code cell: what every answer may rely on."""
    return _graded(nbformat.v4.new_code_cell(source, id="setup"), locked=True)


def answer(source: str, grade_id: str) -> NotebookNode:
    """The cell of an answer: a function to write."""
    return _graded(nbformat.v4.new_code_cell(source, id=grade_id), solution=True)


def check(name: str, backend: str, points: int, record: str = "") -> NotebookNode:
    """The locked cell that checks the answer above it and carries its points. record: an expression for the exercise's
    record, where its name is not enough.
    """
    exercise = record or f'"{name}"'
    cell = nbformat.v4.new_code_cell(f'check({exercise}, {name}, backend="{backend}")', id=f"{name}-{backend}-check")
    return _graded(cell, grade=True, locked=True, points=points)


def question(guide: str, name: str, points: int) -> NotebookNode:
    """A written answer, graded by hand. The marking guide is the cell's solution, so a released notebook lacks it."""
    source = f"{BEGIN_GUIDE}\n{guide}\n{END_GUIDE}"
    return _graded(nbformat.v4.new_markdown_cell(source, id=name), grade=True, solution=True, points=points)


def _graded(
    cell: NotebookNode, *, grade: bool = False, solution: bool = False, locked: bool = False, points: int | None = None
) -> NotebookNode:
    cell.metadata["nbgrader"] = {
        "grade": grade,
        "grade_id": cell.id,
        "locked": locked,
        "schema_version": SCHEMA_VERSION,
        "solution": solution,
        "task": False,
        **({} if points is None else {"points": points}),
    }
    return cell
