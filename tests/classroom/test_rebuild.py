"""Where the cells of a submission come to lie in the notebook that is graded."""

from graded_kernels.autograder.classroom.nbgrader.notebook_file import Piece
from graded_kernels.autograder.classroom.nbgrader.rebuild import is_added, rebuild
from nbformat.v4 import new_code_cell, new_notebook

SOURCES = ["import torch", "x = torch.ones(3)", "print(x)"]
RELEASED = new_notebook(
    cells=[new_code_cell(source, id=f"cell-{number}") for number, source in enumerate(SOURCES)],
    metadata={"graded_kernels": {"chapter": "tiny"}},
)
FIRST, SECOND, THIRD = (Piece("code", source, f"cell-{number}") for number, source in enumerate(SOURCES))
ADDED = Piece("code", "y = x + 1", "of-the-learner")


def order(*pieces: Piece) -> list[str]:
    notebook = rebuild(RELEASED, list(pieces))
    assert [is_added(cell) for cell in notebook.cells].count(True) == pieces.count(ADDED)
    return [cell.source for cell in notebook.cells]


def test_an_added_cell_lies_below_the_released_one_that_it_follows():
    assert order(FIRST, ADDED, SECOND, THIRD) == [SOURCES[0], ADDED.source, *SOURCES[1:]]
    assert order(ADDED, FIRST, SECOND, THIRD) == [ADDED.source, *SOURCES]


def test_below_a_copy_it_stays_after_all_that_stood_above_it():
    """It uses x, which the second cell makes: the copy of the first must not take it along to the beginning."""
    assert order(FIRST, SECOND, FIRST, ADDED, THIRD) == [*SOURCES[:2], ADDED.source, SOURCES[2]]
