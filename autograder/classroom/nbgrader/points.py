"""Points: a teacher's own, automatic ones that are taken back, and those taken off for lateness.

The teacher's own are in the course's configuration: of exercises and questions, and what failures cost.

    c.Grade.points = {"01_silu/silu_backward-torch": 6, "01_silu/silu_epsilon": 4}
    c.Grade.costs = {"dtypes": 10, "point": 40}

They decide nothing about a verdict: what was checked once is not checked again for them.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC

from nbformat import NotebookNode
from nbformat.v4 import new_notebook
from nbgrader.api import Gradebook, MissingEntry, SubmittedAssignment
from nbgrader.converters import Autograde
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import compute_checksum, is_grade
from traitlets import Float, List, Unicode

from ...judge import changed_costs
from ...words import utc_and_local
from .rebuild import grade_id


class PointsError(ValueError):
    """Points that cannot be given; the message says which."""


def costs_of(costs: Mapping[str, float]) -> dict[str, float]:
    """Returns what every failure costs, those that are not named as in the course. Raises PointsError."""
    try:
        return changed_costs(costs)
    except ValueError as error:
        raise PointsError(f"c.Grade.costs: {error}") from None


def assert_known(points: Mapping[str, float], released: Iterable[tuple[str, NotebookNode]]) -> None:
    """Raises PointsError for what no released notebook has. released: all of them, each with its assignment."""
    for name, number in points.items():
        _assert_number(f"c.Grade.points: {name}", number)
    known = {f"{where}/{_name(cell)}" for where, notebook in released for cell in notebook.cells if is_grade(cell)}
    for name in points:
        if name in known:
            continue
        if meant := sorted(full for full in known if full.endswith(f"/{name}")):
            raise PointsError(f"c.Grade.points: {name!r} names no assignment; write {' or '.join(map(repr, meant))}")
        raise PointsError(f"c.Grade.points: no released notebook has {name!r}; there are {', '.join(sorted(known))}")


def of_assignment(points: Mapping[str, float], assignment: str) -> dict[str, float]:
    """The points that act in an assignment, by the names of its cells."""
    named = {name: number for name, number in points.items() if name.startswith(f"{assignment}/")}
    return {name.removeprefix(f"{assignment}/"): number for name, number in named.items()}


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


def clear_scores(db_url: str, assignment: str, student: str, notebook: str) -> None:
    """Takes back the automatic scores of one submitted notebook. What a person gave, scores and comments, stays, and
    whether a person has to look at it again.
    """
    with Gradebook(db_url) as gradebook:
        try:
            submitted = gradebook.find_submission_notebook(notebook, assignment, student)
        except MissingEntry:
            return
        for grade in submitted.grades:
            grade.auto_score = None
            grade.needs_manual_grade |= grade.manual_score is None
        gradebook.db.commit()


class PerDay(LateSubmissionPlugin):
    """Takes a share of a late notebook's points for every day that was begun, never more than there are; none as long
    as no share is set. nbgrader's own plugin takes none or all. Of an assignment that is closed when it is due a late
    notebook gets none.
    """

    share = Float(0.0, help="Of the notebook's score, for every day that was begun.").tag(config=True)
    grace_seconds = Float(0.0, help="Of lateness that costs nothing.").tag(config=True)
    closed = List(Unicode(), help="Assignments, an exam say, of which what is late counts nothing.").tag(config=True)

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        """None where nothing is taken."""
        if total_seconds_late <= self.grace_seconds:
            return None
        if getattr(self.parent, "assignment_id", "") in self.closed:
            return score
        return round(score * min(1.0, self.share * math.ceil(total_seconds_late / 86_400)), 2) or None


def lateness(db_url: str, assignment: str, student: str) -> str | None:
    """Returns how late a graded submission was and what it cost; None where it was in time, or no time is known."""
    with Gradebook(db_url) as gradebook:
        submission = gradebook.find_submission(assignment, student)
        late, penalty = submission.total_seconds_late, submission.late_submission_penalty
    if late <= 0:
        return None
    taken = f"{penalty:g}" if penalty else "no"
    return f"{student}, {assignment}: {_duration(late)} late, {taken} points taken off"


def handed_in_late(submission: SubmittedAssignment) -> str:
    """``handed in 12.0 minutes after 2026-12-10 11:00 UTC``; "" where it was in time."""
    late = submission.total_seconds_late
    return f"handed in {_duration(late)} after {utc_and_local(submission.duedate.replace(tzinfo=UTC))}" if late else ""


def renewed(converter: Autograde, students: Collection[str]) -> Iterator[str]:
    """Takes points for lateness anew from submissions of these that are not graded again: a person may have given
    points since, or the due date have changed. A line for each that it makes a difference to.
    """
    db_url, assignment = converter.coursedir.db_url, converter.coursedir.assignment_id
    with Gradebook(db_url) as gradebook:
        every = [
            submission
            for submission in gradebook.assignment_submissions(assignment)
            if submission.student_id in students
        ]
        late = [row for row in every if row.total_seconds_late > 0 or row.late_submission_penalty]
        before = {row.student_id: row.late_submission_penalty or 0.0 for row in late}
        names = {row.student_id: [notebook.name for notebook in row.notebooks] for row in late}
    for student, taken in before.items():
        for name in names[student]:
            where = {"student": student, "assignment": assignment, "notebook": name, "db_url": db_url}
            AssignLatePenalties(parent=converter).preprocess(new_notebook(), {"nbgrader": where})
        with Gradebook(db_url) as gradebook:
            now = gradebook.find_submission(assignment, student).late_submission_penalty or 0.0
        if now != taken:
            yield f"{student}, {assignment}: {now:g} points taken off, before {taken:g}"


def _duration(seconds: float) -> str:
    """Writes the duration in the largest of three units that it fills."""
    for size, name in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} seconds"
