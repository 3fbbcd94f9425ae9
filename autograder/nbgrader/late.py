"""Points for lateness, since nbgrader's own plugin takes none or all; and what a run's summary says of it."""

import math
from collections.abc import Collection, Iterator

from nbformat.v4 import new_notebook
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from traitlets import Float


class PerDay(LateSubmissionPlugin):
    """Takes a share of a late notebook's points for every day that was begun, never more than there are."""

    share = Float(0.1, help="Of the notebook's score, for every day that was begun.").tag(config=True)
    grace_seconds = Float(0.0, help="Of lateness that costs nothing.").tag(config=True)

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        """None where nothing is taken."""
        if total_seconds_late <= self.grace_seconds:
            return None
        return round(score * min(1.0, self.share * math.ceil(total_seconds_late / 86_400)), 2)


def lateness(db_url: str, assignment: str, student: str) -> str | None:
    """How late a graded submission was and what it cost; None where it was in time, or no time is known."""
    with Gradebook(db_url) as gradebook:
        submission = gradebook.find_submission(assignment, student)
        late, penalty = submission.total_seconds_late, submission.late_submission_penalty
    if late <= 0:
        return None
    taken = f"{penalty:g}" if penalty else "no"
    return f"{student}, {assignment}: {_duration(late)} late, {taken} points taken off"


def renewed(converter: Autograde, students: Collection[str]) -> Iterator[str]:
    """Takes points for lateness anew from submissions of these that are not graded again: a person may have given
    points since, or the due date have changed. A line for each that it makes a difference to.
    """
    db_url, assignment = converter.coursedir.db_url, converter.coursedir.assignment_id
    with Gradebook(db_url) as gradebook:
        every = [one for one in gradebook.assignment_submissions(assignment) if one.student_id in students]
        late = [one for one in every if one.total_seconds_late > 0 or one.late_submission_penalty]
        before = {one.student_id: one.late_submission_penalty or 0.0 for one in late}
        names = {one.student_id: [notebook.name for notebook in one.notebooks] for one in late}
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
