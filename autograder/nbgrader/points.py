"""A teacher's own points, from the course's configuration: of exercises and questions, and the weights of the aims.

    c.Grade.points = {"silu_backward-torch": 6, "silu_epsilon": 4}
    c.Grade.aims = {"plain": 20, "point": 50}

They decide nothing about a verdict: what was checked once is not checked again for them.
"""

import math
from collections.abc import Iterable, Mapping

from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.utils import compute_checksum, is_grade

from ..results.aim import Aim
from ..results.points import WEIGHTS
from .rebuild import grade_id


class PointsError(ValueError):
    """Points that cannot be given; the message says which."""


def weights_of(aims: Mapping[str, float]) -> dict[str, float]:
    """The weights of all aims, those that are not named as they are in the course. Raises PointsError."""
    for name, weight in aims.items():
        if name not in set(Aim):
            raise PointsError(f"c.Grade.aims: there is no {name!r}; there are {', '.join(Aim)}")
        _assert_number(f"c.Grade.aims: {name}", weight)
    weights = dict(WEIGHTS) | dict(aims)
    if not weights[Aim.PLAIN]:
        raise PointsError("c.Grade.aims: plain is 0, and every exercise has plain values; give it some weight")
    return weights


def assert_known(points: Mapping[str, float], released: Iterable[NotebookNode]) -> None:
    """Raises PointsError for what no released notebook has. released: those of all assignments."""
    for name, number in points.items():
        _assert_number(f"c.Grade.points: {name}", number)
    known = {_name(cell) for notebook in released for cell in notebook.cells if is_grade(cell)}
    for name in points:
        if name not in known:
            raise PointsError(
                f"c.Grade.points: no released notebook has {name!r}; there are {', '.join(sorted(known))}"
            )


def _assert_number(what: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise PointsError(f"{what} is {value!r}; give a number from 0 on")


def _name(cell: NotebookNode) -> str:
    """``silu_backward-torch`` of its check, ``silu_epsilon`` of a question."""
    return grade_id(cell).removesuffix("-check")


def give(notebook: NotebookNode, points: Mapping[str, float]) -> NotebookNode:
    """The notebook, whose graded cells have these points where they are named."""
    for cell in notebook.cells:
        if is_grade(cell) and _name(cell) in points:
            cell.metadata.nbgrader["points"] = points[_name(cell)]
    return notebook


def record(db_url: str, assignment: str, notebook: str, released: NotebookNode) -> None:
    """Writes the points of a released notebook into the gradebook, from which nbgrader takes them."""
    with Gradebook(db_url) as gradebook:
        for cell in filter(is_grade, released.cells):
            name, most = grade_id(cell), float(cell.metadata.nbgrader["points"])
            try:
                graded = gradebook.find_graded_cell(name, notebook, assignment)
                source = gradebook.find_source_cell(name, notebook, assignment)
            except MissingEntry:  # which nbgrader says when it comes to the cell
                continue
            if graded.max_score != most:
                graded.max_score, source.checksum = most, compute_checksum(cell)
        gradebook.db.commit()
