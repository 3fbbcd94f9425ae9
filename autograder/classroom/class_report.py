"""``graded-kernels report``: the page of a class in one assignment, the page of a course, and their numbers as CSV."""

import argparse
import csv
import io
from collections.abc import Sequence
from pathlib import Path

from nbgrader.api import MissingEntry
from nbgrader.coursedir import CourseDirectory

from ..words import Exit
from .class_findings import FAILED, PASSED, UNREACHED, Findings, findings, rows
from .course import NoCourse, configured
from .nbgrader.disk import make_folder, put
from .nbgrader.export import Grades, safe
from .page import class_page, course_page, similar_page
from .similar import in_class

FOLDER = "reports"


def main(options: argparse.Namespace) -> int:
    """Writes the pages, prints their paths, and returns the exit status."""
    app = configured(options.course)
    for path in write(app.coursedir, options.assignment, Grades(parent=app).exclude):
        print(path)
    return Exit.PASSED


def write(courses: CourseDirectory, assignment: str, without: Sequence[str] = ()) -> list[Path]:
    """Writes the pages and the table, which only their owner can read, and returns their paths. without: accounts that
    are in none of them. Raises NoCourse, NotWritten.
    """
    try:
        every = [row for row in rows(courses) if row["student_id"] not in without]
    except MissingEntry as error:
        raise NoCourse(str(error)) from None
    assignments = list(dict.fromkeys(row["assignment"] for row in every))
    if assignment not in assignments:
        known = f"there are {', '.join(assignments)}" if assignments else "the gradebook has none with students"
        raise NoCourse(f"no assignment {assignment}; {known}")
    folder = Path(courses.root) / FOLDER
    make_folder(folder)
    results = findings(courses, assignment, every)
    page, table, course = (folder / name for name in (f"{assignment}.html", f"{assignment}.csv", "course.html"))
    close = in_class(courses, assignment, [learner.id for learner in results.learners])
    put(page, class_page(results, folder, len(close)))
    similar = folder / f"{assignment}-similar.html"
    put(similar, similar_page(assignment, close))
    _write_table(results, table)
    changed = folder / f"{assignment}-changed.csv"
    _write_changed(results, changed)
    pages = [name for name in assignments if (folder / f"{name}.html").is_file()]
    put(course, course_page(assignments, every, pages))
    return [page, similar, table, changed, course]


def _write_table(findings: Findings, path: Path) -> None:
    """A row for each case of each answer."""
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(["answer", "case", "input", "passed", "failed", "not reached"])
    for answer in findings.answers:
        for case in answer.cases:
            counts = [case.counts[kind] for kind in (PASSED, FAILED, UNREACHED)]
            table.writerow([safe(value) for value in (answer.name, case.name, case.inputs, *counts)])
    put(path, text.getvalue(), "utf-8-sig")


def _write_changed(findings: Findings, path: Path) -> None:
    """A row for each answer whose points the last regrade changed."""
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(["student", "answer", "before", "now", "since", "why"])
    for change in findings.moved:
        table.writerow(map(safe, (change.student, change.answer, change.before, change.now, change.since, change.why)))
    put(path, text.getvalue(), "utf-8-sig")
