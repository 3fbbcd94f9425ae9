"""``graded-kernels extend``: a due date of one student's own, as nbgrader's gradebook keeps it."""

import argparse
import sys
from datetime import datetime

from nbgrader.api import Gradebook, MissingEntry

from ..words import Exit
from .course import NoCourse, configured
from .nbgrader.extension import grant


def main(options: argparse.Namespace) -> int:
    """Extends the due date, prints it, and returns the exit status."""
    student, assignment = options.student, options.assignment
    try:
        due = extend(configured(options.course).coursedir.db_url, student, assignment, options.days)
    except NoCourse as error:
        print(f"graded-kernels: {error}", file=sys.stderr)
        return Exit.USAGE
    print(f"{student}, {assignment}: due {due:%Y-%m-%d %H:%M} UTC")
    print(f"If it is graded already, take points for lateness anew: nbgrader autograde {assignment}")
    return Exit.PASSED


def extend(db_url: str, student: str, assignment: str, days: int) -> datetime:
    """Gives ``student`` this many days more than the class has, in place of what was given before, and returns the due
    date in UTC. Raises NoCourse.
    """
    with Gradebook(db_url) as gradebook:
        try:
            found = gradebook.find_assignment(assignment)
        except MissingEntry:
            known = ", ".join(one.name for one in gradebook.assignments) or "none"
            raise NoCourse(f"no assignment {assignment} in the gradebook; there are: {known}") from None
        try:
            gradebook.find_student(student)
        except MissingEntry:
            raise NoCourse(
                f"no student {student} in the gradebook; add one: nbgrader db student add {student}"
            ) from None
        if found.duedate is None:
            command = f'nbgrader db assignment add {assignment} --duedate="2026-11-30 18:00 UTC"'
            raise NoCourse(f"{assignment} has no due date to extend; set one: {command}")
        return grant(gradebook, student, assignment, days)
