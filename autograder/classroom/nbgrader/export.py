"""``nbgrader export``: grades as CSV in which a comma does no harm, and no 0 stands for what was not graded."""

import csv
import io
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbgrader.api import Assignment, Grade, Gradebook, MissingEntry, Student, SubmittedAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.plugins import ExportPlugin
from traitlets import Enum, List, Unicode

from .disk import NotWritten, put

COLUMNS = (
    "assignment duedate timestamp student_id last_name first_name email "
    "status waiting raw_score late_submission_penalty score max_score"
).split()
NEVER, NOT_YET, WAITS, GRADED = "never handed in", "not graded yet", "waits for a person", "graded"
MOODLE = {"First name": "first_name", "Last name": "last_name", "ID number": "lms_user_id", "Username": "student_id"}
MOODLE |= {"Email address": "email"}
CANVAS = {"Student": "name", "ID": "lms_user_id", "SIS User ID": "student_id", "SIS Login ID": "login", "Section": ""}
DECIMALS = 4  # a sum of points in binary fractions is not 3.2199999999999998 to a person
NO_GRADE = "-"  # in Moodle; also for what is not known of a student
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # a spreadsheet runs what begins like this


class Grades(ExportPlugin):
    """A row for each assignment and student. Text in UTF-8 with a byte order mark, as spreadsheets need it.

    status: ``graded``, ``waits for a person``, ``not graded yet`` (or the run failed) or ``never handed in``. waiting:
    the points that a person has yet to give or refuse. raw_score: those given so far; score: less the penalty, and only
    where nothing waits.
    """

    exclude = List(
        Unicode(),
        help="Accounts that are in no table and on no page of a class, such as the one you try an assignment with.",
    ).tag(config=True)

    def export(self, gradebook: Gradebook) -> None:
        """Writes the table; ends the command with status 1 where it cannot be written."""
        to = self.to or "grades.csv"
        rows = [
            row
            for row in rows_of(gradebook, self.parent.coursedir)
            if self._wanted(row["assignment"], self.assignment)
            and self._wanted(row["student_id"], self.student)
            and row["student_id"] not in self.exclude
        ]
        text = io.StringIO()
        csv.writer(text).writerows([safe(value) for value in line] for line in self.lines(gradebook, rows))
        try:
            put(Path(to), text.getvalue(), "utf-8-sig")
        except NotWritten as error:
            self.log.error("%s", error)
            sys.exit(1)
        self.log.info("Grades are in %s", to)

    def lines(self, gradebook: Gradebook, rows: list[dict[str, Any]]) -> Iterator[list[Any]]:
        """The lines of the table, the heading first."""
        yield list(COLUMNS)
        for row in rows:
            yield [row.get(name) for name in COLUMNS]

    @staticmethod
    def _wanted(name: str, among: list[Any]) -> bool:
        return not among or name in map(str, among)


class Wide(Grades):
    """A row for each student, for Moodle's import of grades. For each assignment three columns: the score; the status,
    as in `Grades`; and the days by which it was late, each begun day counted.

    The first columns bear the names of Moodle's own export of grades; in its form a person maps one of them to
    ``username``, ``useridnumber`` or ``useremail``. Where there is no score stands ``-``, Moodle's own mark: in a
    column that is imported as a new grade item, an empty cell becomes 0. It also stands for a number or an address that
    is not known: Moodle then finds no user and imports nothing, where it would give the grades of a row with an empty
    cell to the student of the row before. ID number: nbgrader's ``lms_user_id``.
    Sources: docs.moodle.org, "Grade import"; Moodle's grade/import/csv/classes/load_data.php (`import_new_grade_item`,
    `update_grade_item`, `map_user_data_with_value`) and `normalise_value` in lib/dml.
    """

    def lines(self, gradebook: Gradebook, rows: list[dict[str, Any]]) -> Iterator[list[Any]]:
        """The heading, and a line for each student."""
        assignments = list(dict.fromkeys(row["assignment"] for row in rows))
        yield [*MOODLE, *(f"{name}{what}" for name in assignments for what in ("", " status", " late days"))]
        for by_assignment in _by_student(rows):
            first = next(iter(by_assignment.values()))
            grades = [by_assignment[name] for name in assignments]
            cells = [
                cell for row in grades for cell in (row.get("score", NO_GRADE), row["status"], row.get("late_days"))
            ]
            yield [*(first[column] or NO_GRADE for column in MOODLE.values()), *cells]


class Canvas(Grades):
    """A row for each student, as Canvas imports grades: after the heading a row with the points that are possible.

    Canvas looks for a student by ID, its own number (nbgrader's ``lms_user_id``), then by SIS User ID, SIS Login ID and
    name; the first that it finds counts. It needs a column Section, and reads nothing from it. An empty cell is no
    score: where Canvas has one, the import takes that for a change and removes it. Why there is none is in `Wide`.
    Source: Canvas's lib/gradebook_importer.rb (`update_column_count`, `process_student`, `no_change_to_value?`).
    """

    login = Enum(
        ("student_id", "email"),
        "student_id",
        help="What a student's login in Canvas is: nbgrader's name, or the address.",
    ).tag(config=True)

    def lines(self, gradebook: Gradebook, rows: list[dict[str, Any]]) -> Iterator[list[Any]]:
        """The heading, the points that are possible, and a line for each student."""
        most = {row["assignment"]: row["max_score"] for row in rows}
        yield [*CANVAS, *most]
        yield ["    Points Possible", "", "", "", "", *most.values()]
        for by_assignment in _by_student(rows):
            first = next(iter(by_assignment.values()))
            name = ", ".join(filter(None, (first["last_name"], first["first_name"]))) or first["student_id"]
            person = first | {"name": name, "login": first[self.login], "": ""}
            yield [*(person[column] for column in CANVAS.values()), *(by_assignment[a].get("score") for a in most)]


class ByExercise(Grades):
    """A row for each assignment, student and graded cell. points is empty where the status is not ``graded``."""

    def lines(self, gradebook: Gradebook, rows: list[dict[str, Any]]) -> Iterator[list[Any]]:
        """The heading, and a line for each graded cell of each row."""
        yield ["assignment", "student_id", "last_name", "first_name", "notebook", "exercise", "status", "points", "of"]
        for row in rows:
            person = [row[name] for name in ("assignment", "student_id", "last_name", "first_name")]
            for notebook in gradebook.find_assignment(row["assignment"]).notebooks:
                for cell in sorted(notebook.grade_cells, key=lambda cell: cell.name):
                    status, points = _points(gradebook, row, notebook.name, cell.name)
                    name = cell.name.removesuffix("-check")
                    yield [*person, notebook.name, name, status, points, cell.max_score]


def rows_of(gradebook: Gradebook, courses: CourseDirectory) -> Iterator[dict[str, Any]]:
    """A dictionary for each assignment and student, with the names of `COLUMNS` and ``late_days``.

    Assignments by due date and name, students by name and id: databases differ in how they order accents and what is
    missing.
    """
    assignments = sorted(gradebook.assignments, key=lambda entry: (str(entry.duedate or ""), entry.name))
    students = sorted(gradebook.students, key=lambda entry: (entry.last_name or "", entry.first_name or "", entry.id))
    for assignment in assignments:
        for student in students:
            row = dict(_row(gradebook, assignment, student))
            if not _has_files(courses, "autograded", student.id, assignment.name):
                if _has_files(courses, "submitted", student.id, assignment.name):
                    row["status"] = NOT_YET
                elif "raw_score" not in row:  # the gradebook has at most an extension
                    row |= {"status": NEVER, "waiting": None}
            yield row


def safe(value: object) -> str:
    """Returns ``value`` as a cell that no spreadsheet takes for a formula."""
    if value == NO_GRADE:
        return NO_GRADE
    if isinstance(value, float):
        return str(round(value, DECIMALS))
    if not isinstance(value, str):
        return "" if value is None else str(value)
    return f"'{value}" if value.startswith(FORMULA) else value


def _has_files(courses: CourseDirectory, step: str, student: str, assignment: str) -> bool:
    folder = courses.format_path(getattr(courses, f"{step}_directory"), student, assignment)
    return any(Path(courses.root, folder).glob("*.ipynb"))


def _by_student(rows: list[dict[str, Any]]) -> list[dict[str, dict[str, Any]]]:
    """Returns for each student the rows by assignment."""
    students: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        students.setdefault(row["student_id"], {})[row["assignment"]] = row
    return list(students.values())


def _points(gradebook: Gradebook, row: dict[str, Any], notebook: str, cell: str) -> tuple[str, float | None]:
    if row["status"] in (NEVER, NOT_YET):
        return row["status"], None
    try:
        grade = gradebook.find_grade(cell, notebook, row["assignment"], row["student_id"])
    except MissingEntry:
        return NOT_YET, None
    return points_in(grade)


def points_in(grade: Grade) -> tuple[str, float | None]:
    """The status of a graded cell, and its points, None where it waits for a person."""
    return (WAITS, None) if grade.needs_manual_grade else (GRADED, grade.score)


def _row(gradebook: Gradebook, assignment: Assignment, student: Student) -> Iterator[tuple[str, Any]]:
    yield from {
        "assignment": assignment.name,
        "duedate": assignment.duedate,
        "student_id": student.id,
        "last_name": student.last_name,
        "first_name": student.first_name,
        "email": student.email,
        "lms_user_id": student.lms_user_id,
        "max_score": assignment.max_score,
    }.items()
    try:
        submission = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        return
    yield "duedate", submission.duedate  # with an extension
    yield from _graded(submission)


def _graded(submission: SubmittedAssignment) -> Iterator[tuple[str, Any]]:
    grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
    waiting = [grade for grade in grades if grade.needs_manual_grade]
    yield "timestamp", submission.timestamp
    yield "late_days", math.ceil(submission.total_seconds_late / 86_400)
    yield "status", WAITS if waiting else GRADED
    yield "waiting", sum(grade.max_score for grade in waiting)
    if len(waiting) == len(grades):
        return
    penalty = submission.late_submission_penalty or 0.0
    yield "raw_score", submission.score - sum(grade.score for grade in waiting)  # given to what was there before
    yield "late_submission_penalty", penalty
    if not waiting:
        yield "score", max(0.0, submission.score - penalty)
