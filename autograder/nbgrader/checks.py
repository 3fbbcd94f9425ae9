"""A notebook's check cells, and the learner's code that each of them checks."""

from nbformat import NotebookNode
from nbgrader.utils import is_grade, is_locked

from ..run.answer import Answer, Cell
from .outputs import NotGradable, notes_output
from .rebuild import PYTHON, RECORD, exercise_of, grade_id, is_answer


def is_check(cell: NotebookNode) -> bool:
    """Whether nbgrader would read a score from this cell's output."""
    return cell.cell_type == "code" and is_grade(cell) and not is_answer(cell)


def learners_code(nb: NotebookNode) -> dict[int, Cell]:
    """The code that the learner wrote, by index of its cell, as Python: what `reading_process` found, which is taken
    out of the notebook. What had to be left out is noted under the cell.
    """
    found = {}
    for index, cell in enumerate(nb.cells):
        if python := cell.metadata.get(RECORD, {}).pop(PYTHON, None):
            found[index] = Cell(grade_id(cell) or cell.id, python["code"])
            cell.outputs = [notes_output(python["notes"])] if python["notes"] else []
    return found


def answer_to(nb: NotebookNode, learners: dict[int, Cell], index: int) -> tuple[Answer, str]:
    """The answer that the check cell at ``index`` checks, and its backend.

    It is the learner's code in order up to the check: cells added between the answer and its check may hold a helper,
    and a learner who runs the check has run them. Raises NotGradable.
    """
    check = grade_id(nb.cells[index])
    answer_id = check.removesuffix("-check")
    ids = {grade_id(cell): number for number, cell in enumerate(nb.cells[:index]) if is_answer(cell)}
    if answer_id == check or answer_id not in ids:
        raise NotGradable(f"`{check}` does not follow an answer cell of the same name")
    setup = next((c.source for c in nb.cells if grade_id(c) == "setup" and is_locked(c)), "")
    at = ids[answer_id]
    cells = tuple(cell for number, cell in learners.items() if number < index)
    name, backend = exercise_of(answer_id)
    return Answer(name, cells, setup, after=sum(at < number < index for number in learners)), backend
