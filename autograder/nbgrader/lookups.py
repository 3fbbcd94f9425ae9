"""The gradebook's rows of a notebook, read together: nbgrader asks the database for each cell of a notebook by itself.

For `sparing`. A row is that of the session that asked for it, so that what is changed in it is saved; a name that is
not among them is looked up by nbgrader.
"""

import functools
from collections.abc import Callable
from typing import Any

from nbgrader import api
from nbgrader.api import Gradebook

READ = "_graded_kernels_read"  # of a gradebook, what was read through it: it goes with its connection


def together(find: Callable) -> Callable:
    """In place of ``find``, one of `FINDING`: the same row."""

    @functools.wraps(find)
    def found(gradebook: Gradebook, *which: str, **named: str):
        if named:  # as a teacher's own preprocessor may call it
            return find(gradebook, *which, **named)
        name, *where = which
        read = gradebook.__dict__.setdefault(READ, {})
        key = find.__name__, *where
        if key not in read:
            read[key] = _ROWS[find.__name__](gradebook, *where)
        return read[key].get(name) or find(gradebook, name, *where)

    return found


def _source_cells(gradebook: Gradebook, *where: str) -> dict:
    return _cells(gradebook, api.SourceCell, *where)


def _graded_cells(gradebook: Gradebook, *where: str) -> dict:
    return _cells(gradebook, api.GradeCell, *where)


def _cells(gradebook: Gradebook, kind: Any, notebook: str, assignment: str) -> dict:
    rows = (
        gradebook.db.query(kind)
        .join(api.Notebook, api.Notebook.id == kind.notebook_id)
        .join(api.Assignment, api.Assignment.id == api.Notebook.assignment_id)
        .filter(api.Notebook.name == notebook, api.Assignment.name == assignment)
    )
    return {row.name: row for row in rows}


def _grades(gradebook: Gradebook, *where: str) -> dict:
    return _marks(gradebook, api.Grade, api.GradeCell, *where)


def _comments(gradebook: Gradebook, *where: str) -> dict:
    return _marks(gradebook, api.Comment, api.SolutionCell, *where)


def _marks(gradebook: Gradebook, kind: Any, cell: Any, notebook: str, assignment: str, student: str) -> dict:
    rows = (
        gradebook.db.query(cell.name, kind)
        .join(cell, cell.id == kind.cell_id)
        .join(api.SubmittedNotebook, api.SubmittedNotebook.id == kind.notebook_id)
        .join(api.Notebook, api.Notebook.id == api.SubmittedNotebook.notebook_id)
        .join(api.SubmittedAssignment, api.SubmittedAssignment.id == api.SubmittedNotebook.assignment_id)
        .join(api.Assignment, api.Assignment.id == api.SubmittedAssignment.assignment_id)
        .join(api.Student, api.Student.id == api.SubmittedAssignment.student_id)
        .filter(api.Notebook.name == notebook, api.Assignment.name == assignment, api.Student.id == student)
    )
    return dict(tuple(row) for row in rows)


_ROWS: dict[str, Callable[..., dict]] = {
    "find_source_cell": _source_cells,
    "find_graded_cell": _graded_cells,
    "find_grade": _grades,
    "find_comment": _comments,
}
FINDING = tuple(_ROWS)
