"""``nbgrader export``: grades as CSV in which a comma does no harm, and no 0 stands for what was not graded."""

import csv
from pathlib import Path

from nbgrader.api import Assignment, Gradebook, MissingEntry, Student, SubmittedAssignment
from nbgrader.plugins import ExportPlugin

COLUMNS = (
    "assignment duedate timestamp student_id last_name first_name email "
    "status waiting raw_score late_submission_penalty score max_score"
).split()
NEVER, NOT_YET, WAITS, GRADED = "never handed in", "not graded yet", "waits for a person", "graded"


class Grades(ExportPlugin):
    """A row for each assignment and student. Text in UTF-8 with a byte order mark, as spreadsheets need it.

    status: ``graded``, ``waits for a person``, ``not graded yet`` (or the run failed) or ``never handed in``. waiting:
    the points that a person has yet to give or refuse. raw_score: those given so far; score: less the penalty, and only
    where nothing waits.
    """

    def export(self, gradebook: Gradebook) -> None:
        to = self.to or "grades.csv"
        with open(to, "w", newline="", encoding="utf-8-sig") as file:
            table = csv.DictWriter(file, COLUMNS)
            table.writeheader()
            for assignment in gradebook.assignments:
                for student in gradebook.students:
                    if self._wanted(assignment.name, self.assignment) and self._wanted(student.id, self.student):
                        row = dict(_row(gradebook, assignment, student))
                        if not self._has_files("autograded", student.id, assignment.name):
                            handed_in = self._has_files("submitted", student.id, assignment.name)
                            row["status"] = NOT_YET if handed_in else row.get("status", NEVER)
                        table.writerow({name: _safe(value) for name, value in row.items()})
        self.log.info("Grades are in %s", to)

    def _has_files(self, step: str, student: str, assignment: str) -> bool:
        courses = self.parent.coursedir
        folder = courses.format_path(getattr(courses, f"{step}_directory"), student, assignment)
        return any(Path(courses.root, folder).glob("*.ipynb"))

    @staticmethod
    def _wanted(name: str, among: list) -> bool:
        return not among or name in map(str, among)


def _row(gradebook: Gradebook, assignment: Assignment, student: Student):
    yield from {
        "assignment": assignment.name,
        "duedate": assignment.duedate,
        "student_id": student.id,
        "last_name": student.last_name,
        "first_name": student.first_name,
        "email": student.email,
        "max_score": assignment.max_score,
    }.items()
    try:
        submission = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        return
    yield from _graded(submission)


def _graded(submission: SubmittedAssignment):
    grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
    waiting = [grade for grade in grades if grade.auto_score is None and grade.manual_score is None]
    yield "timestamp", submission.timestamp
    yield "status", WAITS if waiting else GRADED
    yield "waiting", sum(grade.max_score for grade in waiting)
    if len(waiting) == len(grades):
        return
    penalty = submission.late_submission_penalty or 0.0
    yield "raw_score", submission.score
    yield "late_submission_penalty", penalty
    if not waiting:
        yield "score", max(0.0, submission.score - penalty)


def _safe(value) -> str:
    """A spreadsheet takes for a formula what begins like one, and runs it."""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
