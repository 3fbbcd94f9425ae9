"""Appeals of a class in an assignment: what learners ask in their notebooks, and what was decided, which stays in the
comment on the answer in the gradebook.

A notebook in ``appeals/STUDENT/ASSIGNMENT/`` is read for its appeals alone, in place of the one that was graded: what
comes after the due date changes neither answers nor the time of submission.
"""

import functools
import sys
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory

from .nbgrader.appeal_form import appeals_in
from .nbgrader.autograde import Autograde
from .nbgrader.by_hand import CHECK
from .nbgrader.notebook_file import UnreadableSubmission
from .nbgrader.reader import Reader

APPEALS = "appeals"  # the folder in the course root
ASKED, NO_REASON = "**You asked:** ", "(no reason was written)"


@dataclass(frozen=True)
class Appeal:
    """An appeal. reason: the learner's; points: as they are now; decision: the comment that decides it, "" where it
    waits for one.
    """

    student: str
    answer: str
    reason: str
    points: float
    most: float
    decision: str


class AppealReader:
    """Reads the appeals in the notebooks of an assignment."""

    def __init__(self, courses: CourseDirectory, assignment: str):
        released = courses.format_path(courses.release_directory, ".", assignment)
        self._root, self._assignment, self._released = Path(courses.root), assignment, Path(courses.root, released)

    def reasons(self, student: str, name: str, graded: NotebookNode) -> dict[str, str]:
        """The reasons by answer, in the notebook of this name in ``appeals/``, or else in the ``graded`` one."""
        path = self._root / APPEALS / student / self._assignment / f"{name}.ipynb"
        reasons = appeals_in(self._read(path) if path.exists() else graded)
        return {answer: reason or NO_REASON for answer, reason in reasons.items()}

    def _read(self, path: Path) -> NotebookNode:
        """The notebook at the path, one without cells where it cannot be read, which is said on stderr."""
        try:
            return self._reader.rebuilt(path, self._released / path.name)
        except UnreadableSubmission as error:
            print(f"{path.relative_to(self._root)}: the file {error}", file=sys.stderr)
            return NotebookNode(cells=[])

    @functools.cached_property
    def _reader(self) -> Reader:
        """The process that reads what was handed in, started where something lies in ``appeals/``."""
        return Reader(Autograde.megabytes.default_value, Autograde.code_megabytes.default_value)


def appeal(gradebook: Gradebook, place: tuple[str, str, str], answer: str, reason: str) -> Appeal:
    """The appeal with what the gradebook has of it. place: notebook, assignment and student."""
    notebook = gradebook.find_submission_notebook(*place)
    grade = next(grade for grade in notebook.grades if grade.name.removesuffix(CHECK) == answer)
    comment = gradebook.find_comment(answer, *place).manual_comment or ""
    decision = comment if is_decided(comment, reason) else ""
    return Appeal(place[2], answer, reason, grade.score or 0.0, grade.max_score, decision)


def is_decided(comment: str, reason: str) -> bool:
    """Returns whether the comment on an answer decides the appeal with this reason."""
    return f"{ASKED}{reason}" in comment


def decision(reason: str, before: float | None, points: float, most: float, why: str) -> str:
    """The comment that decides an appeal: what was asked, the points, and why. before: None where there were none."""
    changed = "" if before is None else ", as before" if points == before else f", {before:g} before"
    return f"{ASKED}{reason}\n\n**Decision:** {points:g} of {most:g} points{changed}. {why}"
