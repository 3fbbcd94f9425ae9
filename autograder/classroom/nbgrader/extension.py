"""A due date of one student's own, as nbgrader's gradebook keeps it: in the student's submission.

Before anything is handed in that is a submission without notebooks, which formgrader does not list as work to be
graded, and which does not keep the teacher from changing the assignment. It gets them when it is graded.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from nbgrader.api import Gradebook, MissingEntry, SubmittedAssignment


def grant(gradebook: Gradebook, student: str, assignment: str, more: timedelta) -> datetime:
    """Gives ``student`` this much more time than the class has, in place of what was given before; the due date, in
    UTC.
    """
    try:
        submission = gradebook.find_submission(assignment, student)
    except MissingEntry:
        person, whole = gradebook.find_student(student), gradebook.find_assignment(assignment)
        with gradebook.db.no_autoflush:  # else SQLAlchemy warns about what is half made
            submission = SubmittedAssignment(assignment=whole, student=person)
            gradebook.db.add(submission)
    submission.extension = more or None
    gradebook.db.commit()
    due: datetime = submission.duedate
    return due.replace(tzinfo=UTC)


def granted(gradebook: Gradebook) -> Iterator[tuple[str, str, datetime, timedelta]]:
    """Every extension, by assignment and student: ``(assignment, student, due date in UTC, time given)``."""
    for assignment in sorted(gradebook.assignments, key=lambda assignment: assignment.name):
        for submission in sorted(assignment.submissions, key=lambda submission: submission.student_id):
            if submission.extension and submission.duedate:
                due = submission.duedate.replace(tzinfo=UTC)
                yield assignment.name, submission.student_id, due, submission.extension


def with_notebooks(db_url: str, student: str, assignment: str) -> None:
    """Makes a submission that holds an extension alone one that can be graded."""
    with Gradebook(db_url) as gradebook:
        try:
            submission = gradebook.find_submission(assignment, student)
        except MissingEntry:
            return
        if submission.notebooks:
            return
        extension = submission.extension
        gradebook.remove_submission(assignment, student)
        with gradebook.db.no_autoflush:
            gradebook.add_submission(assignment, student, extension=extension)
