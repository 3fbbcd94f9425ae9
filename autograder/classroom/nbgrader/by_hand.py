"""Points that a person gave, which stay with what that person saw: the text of an answer, and of a checked one the
automatic score as well.
"""

from collections.abc import Mapping

from nbformat import NotebookNode
from nbgrader.api import Grade
from nbgrader.utils import determine_grade, is_grade

from .rebuild import NOT_GRADED, RECORD, UNREAD, grade_id

Seen = tuple[str, float | None]  # an answer's text and automatic score
CHECK = "-check"


def seen(graded: NotebookNode) -> dict[str, Seen]:
    """Says what a person sees of each answer of a graded notebook, by the grade id of the cell that has its points."""
    texts = {grade_id(cell): cell.source for cell in graded.cells}
    ids = {grade_id(cell): cell for cell in graded.cells if is_grade(cell)}
    return {name: (texts.get(name.removesuffix(CHECK), ""), automatic(graded, cell)) for name, cell in ids.items()}


def automatic(notebook: NotebookNode, cell: NotebookNode) -> float | None:
    """The automatic score of a graded cell; None where there is none: nbgrader counts a check without an output as full
    marks.
    """
    return None if is_ungraded(notebook, cell) else determine_grade(cell)[0]


def is_ungraded(notebook: NotebookNode, cell: NotebookNode) -> bool:
    """Returns whether the notebook was not read, or the check of the cell left to a person."""
    return UNREAD in notebook.metadata.get(RECORD, {}) or NOT_GRADED in cell.metadata.get(RECORD, {})


def waits(grade: Grade, before: Mapping[str, Seen], now: Mapping[str, Seen]) -> bool:
    """Returns whether a person has to look at an answer: it has no points, or got them before what was seen changed."""
    if grade.manual_score is None:
        return grade.auto_score is None
    return grade.needs_manual_grade or before.get(grade.name) != now[grade.name]


def moved(name: str, before: Mapping[str, Seen], now: Mapping[str, Seen]) -> tuple[float, float] | None:
    """The automatic scores of an answer whose text is the same, before and now; None where they are equal."""
    (text, score), (old_text, old) = now[name], before.get(name, ("", None))
    if old is None or score is None or text != old_text or old == score:
        return None
    return old, score


def change(grade: Grade, before: Mapping[str, Seen], now: Mapping[str, Seen]) -> str:
    """Why a person has to look again at an answer, in a few words: ``silu_epsilon (its text changed, yours 3)``."""
    name, (text, _) = grade.name.removesuffix(CHECK), now[grade.name]
    known = before.get(grade.name)
    if known is None:
        text_changed = "its text may have changed, "
    else:
        text_changed = "its text changed, " if known[0] != text else ""
    automatic = "" if grade.auto_score is None else f"automatic {grade.auto_score:g}, "
    return f"{name} ({text_changed}{automatic}yours {grade.manual_score:g})"
