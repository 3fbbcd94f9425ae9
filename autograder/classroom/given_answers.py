"""``graded-kernels answers``: an assignment with the course's answers in it, to be given out after the deadline."""

import argparse
import re
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory

from ..words import Exit, utc_and_local
from .course import NoCourse, configured
from .nbgrader.disk import put
from .nbgrader.rebuild import records_beside
from .nbgrader.solution_marks import BEGIN, BEGIN_GUIDE, END, END_GUIDE

_MARKS = re.compile(rf"^[ \t]*(?:{re.escape(BEGIN)}|{re.escape(END)})[ \t]*\n?", re.MULTILINE)
_GUIDE = re.compile(rf"(?s){re.escape(BEGIN_GUIDE)}.*?{re.escape(END_GUIDE)}")


def main(options: argparse.Namespace) -> int:
    """Writes the notebooks, prints where they are, and returns the exit status."""
    courses = configured(options.course).coursedir
    last, who = last_due(courses.db_url, options.assignment)
    if last > datetime.now(UTC) and not options.now:
        due = f"{options.assignment} is due at {utc_and_local(last)} for {who}"
        raise NoCourse(f"{due}. To give the answers before: --now")
    for path in write(courses, options.assignment):
        print(path)
    return Exit.PASSED


def last_due(db_url: str, assignment: str) -> tuple[datetime, str]:
    """The last due date, of the class or by an extension, and whose it is. Raises NoCourse."""
    with Gradebook(db_url) as gradebook:
        try:
            whole = gradebook.find_assignment(assignment)
        except MissingEntry as error:
            raise NoCourse(str(error)) from None
        if whole.duedate is None:
            command = f'nbgrader db assignment add {assignment} --duedate="2026-11-30 18:00 UTC"'
            raise NoCourse(f"{assignment} has no due date after which to give its answers; set one: {command}")
        extended = [
            (submission.duedate, submission.student_id) for submission in whole.submissions if submission.extension
        ]
        last, who = max([(whole.duedate, "the class"), *extended])
        return last.replace(tzinfo=UTC), who


def write(courses: CourseDirectory, assignment: str) -> list[Path]:
    """Writes the notebooks of ``source`` with answers and without marking guides into nbgrader's folder for solutions,
    and the teacher's records beside them; their paths. Raises NoCourse, NotWritten.
    """
    root = Path(courses.root)
    source = root / courses.format_path(courses.source_directory, ".", assignment)
    to = root / courses.format_path(courses.solution_directory, ".", assignment)
    notebooks = sorted(source.glob("*.ipynb"))
    if not notebooks:
        raise NoCourse(f"there is no notebook in {source}")
    to.mkdir(parents=True, exist_ok=True)
    texts = {path.name: nbformat.writes(answered(nbformat.read(path, as_version=4))) + "\n" for path in notebooks}
    texts |= {path.name: path.read_text(encoding="utf-8") for path in records_beside(source).values()}
    for name, text in texts.items():
        put(to / name, text)
    return [to / name for name in texts]


def answered(notebook: NotebookNode) -> NotebookNode:
    """The notebook with answers, less the lines around them and the marking guides."""
    for cell in notebook.cells:
        cell.source = _MARKS.sub("", cell.source) if cell.cell_type == "code" else _GUIDE.sub("", cell.source)
    return notebook
