"""``graded-kernels export``: what a class got in an assignment, as other platforms read it, and its written answers on
paper.

``results.json`` of Gradescope: gradescope-autograders.readthedocs.io, "Autograder Specifications", output format. Of
PrairieLearn: docs/externalGrading.md in its repository, "Grading results". Neither platform was there to try it.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import is_grade

from ..words import Exit, visible
from .class_report import FOLDER
from .course import NoCourse, configured
from .nbgrader.disk import make_folder, put
from .nbgrader.export import GRADED, Grades, points_in, rows_of
from .nbgrader.pages import REPORT
from .nbgrader.rebuild import grade_id
from .written import page

LONGEST = 20_000  # characters of a report: PrairieLearn reads 1 MB, and an assignment has a dozen
PAPER = "paper"


@dataclass(frozen=True)
class GradedPart:
    """An exercise or a question of one student. points: None where it waits for a person; text: the report."""

    name: str
    points: float | None
    most: float
    text: str


def gradescope(parts: list[GradedPart]) -> dict[str, Any]:
    """Returns what waits for a person has no score, and counts nothing yet."""
    tests = [
        {"name": part.name, "output": part.text, "output_format": "text"}
        | ({} if part.points is None else {"score": part.points, "max_score": part.most})
        for part in parts
    ]
    return {"score": _sum(parts), "output": _waiting(parts), "output_format": "text", "tests": tests}


def prairielearn(parts: list[GradedPart]) -> dict[str, Any]:
    """score: a share of all points, of which what waits for a person counts none yet."""
    tests = [
        {"name": part.name, "points": part.points or 0.0, "max_points": part.most, "output": part.text}
        | ({"message": _waiting([part])} if part.points is None else {})
        for part in parts
    ]
    most = sum(part.most for part in parts)
    share = _sum(parts) / most if most else 0.0
    return {"gradable": True, "score": share, "message": _waiting(parts), "tests": tests}


FORMATS = {"gradescope": gradescope, "prairielearn": prairielearn}


def main(options: argparse.Namespace) -> int:
    """Writes the files, prints where they are, and returns the exit status."""
    app = configured(options.course)
    courses, skipped = app.coursedir, set(Grades(parent=app).exclude)
    students = _students(courses, options.assignment, skipped)
    folder = Path(courses.root) / FOLDER
    make_folder(folder)
    if options.format == PAPER:
        notebooks = {learner: list(_notebooks(courses, options.assignment, learner)) for learner in students}
        to = folder / f"{options.assignment}-written.html"
        put(to, page(options.assignment, notebooks))
    else:
        to = folder / f"{options.assignment}-{options.format}"
        make_folder(to)
        for student in students:
            data = FORMATS[options.format](_parts(courses, options.assignment, student))
            put(to / f"{student}.json", json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    print(f"{to}, of {len(students)} students" if options.format == PAPER else f"{to}/, {len(students)} files")
    return Exit.PASSED


def _students(courses: CourseDirectory, assignment: str, skipped: set[str]) -> list[str]:
    """Returns whose graded notebooks there are. Raises NoCourse."""
    with Gradebook(courses.db_url) as gradebook:
        rows = [row for row in rows_of(gradebook, courses) if row["assignment"] == assignment]
    who = [row["student_id"] for row in rows if "timestamp" in row and row["student_id"] not in skipped]
    students = [student for student in who if any(_notebooks(courses, assignment, student))]
    if not students:
        raise NoCourse(f"nothing of {assignment} is graded yet; grade it first: graded-kernels grade {assignment}")
    return students


def _notebooks(courses: CourseDirectory, assignment: str, student: str) -> Iterator[tuple[str, NotebookNode]]:
    folder = courses.format_path(courses.autograded_directory, student, assignment)
    for path in sorted(Path(courses.root, folder).glob("*.ipynb")):
        yield path.stem, nbformat.read(path, as_version=4)


def _parts(courses: CourseDirectory, assignment: str, student: str) -> list[GradedPart]:
    with Gradebook(courses.db_url) as gradebook:
        parts = []
        for name, notebook in _notebooks(courses, assignment, student):
            for cell in filter(is_grade, notebook.cells):
                try:
                    grade = gradebook.find_grade(grade_id(cell), name, assignment, student)
                except MissingEntry:
                    continue
                status, points = points_in(grade)
                text = _report(cell) or status
                parts.append(GradedPart(grade_id(cell).removesuffix("-check"), points, grade.max_score, text))
        return parts


def _report(cell: NotebookNode) -> str:
    """The report that the feedback shows below a check."""
    texts = [output.data["text/plain"] for output in cell.get("outputs", ()) if REPORT in output.get("data", {})]
    return visible("\n".join(texts))[:LONGEST]


def _sum(parts: list[GradedPart]) -> float:
    return round(sum(part.points or 0.0 for part in parts), 4)


def _waiting(parts: list[GradedPart]) -> str:
    waiting = sum(part.most for part in parts if part.points is None)
    return f"{waiting:g} points wait for a person." if waiting else f"All of it is {GRADED}."
