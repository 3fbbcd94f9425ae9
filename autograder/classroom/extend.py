"""``graded-kernels extend``: a due date of one student's own, as nbgrader's gradebook keeps it."""

import argparse
from datetime import datetime, timedelta

from nbgrader.api import Gradebook, MissingEntry

from ..words import Exit, UsageError, count, utc_and_local
from .course import NoCourse, configured
from .nbgrader.extension import grant, granted


def main(options: argparse.Namespace) -> int:
    """Extends the due date and prints it, or lists those that were extended; returns the exit status. Raises
    UsageError.
    """
    student, assignment = options.student, options.assignment
    if options.list and student:
        raise UsageError("--list shows every extension, and takes no student and no assignment")
    if not options.list and not assignment:
        raise UsageError("whose due date? graded-kernels extend STUDENT ASSIGNMENT --days 3 (or --minutes 30)")
    db_url = configured(options.course).coursedir.db_url
    if options.list:
        print(listed(db_url))
        return Exit.PASSED
    more = timedelta(days=options.days or 0, minutes=options.minutes or 0)
    due = extend(db_url, student, assignment, more)
    print(f"{student}, {assignment}: due {utc_and_local(due)}")
    print(f"If it is graded already, take points for lateness anew: nbgrader autograde {assignment}")
    return Exit.PASSED


def listed(db_url: str) -> str:
    """A line for each extension, with what it adds to the class's due date."""
    with Gradebook(db_url) as gradebook:
        lines = [
            f"{assignment}  {student}  due {utc_and_local(due)}, {_length(more)} after the class"
            for assignment, student, due, more in granted(gradebook)
        ]
    return "\n".join(lines) or "Nobody has an extension."


def _length(more: timedelta) -> str:
    """``3 days``, ``30 minutes``, ``1 day and 90 minutes``."""
    named = ((more.days, "day"), (more.seconds // 60, "minute"))
    return " and ".join(count(number, name) for number, name in named if number)


def extend(db_url: str, student: str, assignment: str, more: timedelta) -> datetime:
    """Gives ``student`` this much more time than the class has, in place of what was given before, and returns the due
    date. Raises NoCourse.
    """
    with Gradebook(db_url) as gradebook:
        try:
            entry = gradebook.find_assignment(assignment)
        except MissingEntry:
            known = ", ".join(row.name for row in gradebook.assignments) or "none"
            raise NoCourse(f"no assignment {assignment} in the gradebook; there are: {known}") from None
        try:
            gradebook.find_student(student)
        except MissingEntry:
            raise NoCourse(
                f"no student {student} in the gradebook; add one: nbgrader db student add {student}"
            ) from None
        if entry.duedate is None:
            command = f'nbgrader db assignment add {assignment} --duedate="2026-11-30 18:00 UTC"'
            raise NoCourse(f"{assignment} has no due date to extend; set one: {command}")
        return grant(gradebook, student, assignment, more)
