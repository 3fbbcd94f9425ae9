"""``graded-kernels marks``: points and comments that people give, written to CSV files for them and read back."""

import argparse
import difflib
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Comment, Grade, Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory

from ..words import Exit, UsageError, count
from .appeals import AppealReader, decision, is_decided
from .class_report import FOLDER
from .course import NoCourse, configured
from .mark_sheets import BadMark, MarkRow, Rubric, rows_in, rubric_in, shared, sheet
from .nbgrader.by_hand import CHECK
from .nbgrader.disk import make_folder, put
from .nbgrader.export import Grades
from .nbgrader.rebuild import RECORD, UNREAD, grade_id

RUBRIC = "rubric.csv"
Reasons = Callable[[str, str], Mapping[str, str]]


@dataclass(frozen=True)
class GivenMark:
    """A row that can be given: its grade in the gradebook, and the points and comment in place of those there."""

    row: MarkRow
    grade: Grade
    points: float | None
    comment: str


def main(options: argparse.Namespace) -> int:
    """Writes the files, or reads them back; prints what was done, and returns the exit status. Raises UsageError."""
    if options.read and options.assistants:
        raise UsageError("--for shares what is to be marked, and --read takes marks back: give one of them")
    app = configured(options.course)
    if options.read:
        try:
            return read_back(app.coursedir, options.assignment, options.read, options.skip_bad_rows)
        except BadMark as error:
            raise UsageError(str(error)) from None
    for path, rows in write(app.coursedir, options.assignment, options.assistants, Grades(parent=app).exclude):
        print(f"{path}: {count(rows, 'row')}")
    return Exit.PASSED


def write(
    courses: CourseDirectory, assignment: str, assistants: Sequence[str], without: Sequence[str]
) -> Iterator[tuple[Path, int]]:
    """Writes what waits for a person, and what persons gave: one file, or one for each assistant. Yields each with the
    number of its rows. without: students that are left out. Raises NoCourse, NotWritten.
    """
    with Gradebook(courses.db_url) as gradebook:
        rows = [row for row in _rows(gradebook, courses, assignment) if row.student not in without]
    if not rows:
        raise NoCourse(f"nothing in {assignment} is marked by hand; grade it first: graded-kernels grade {assignment}")
    folder = Path(courses.root) / FOLDER
    make_folder(folder)
    for name, mine in (shared(rows, assistants) if assistants else {"": rows}).items():
        path = folder / f"{assignment}-marks{f'-{name}' if name else ''}.csv"
        put(path, sheet(mine), "utf-8-sig")
        yield path, len(mine)


def _rows(gradebook: Gradebook, courses: CourseDirectory, assignment: str) -> Iterator[MarkRow]:
    """The rows of all submissions: what a person marks, has marked, or is asked to look at again. Notebooks that could
    not be read have none: nothing in them can be marked.
    """
    try:
        submissions = gradebook.find_assignment(assignment).submissions
    except MissingEntry as error:
        raise NoCourse(str(error)) from None
    reader = AppealReader(courses, assignment)
    for submission in sorted(submissions, key=lambda submission: submission.student_id):
        for notebook in submission.notebooks:
            graded = _graded(courses, assignment, submission.student_id, notebook.name)
            if graded and UNREAD in graded.metadata.get(RECORD, {}):
                continue
            answers = {grade_id(cell): cell.source for cell in graded.cells} if graded else {}
            appeals = reader.reasons(submission.student_id, notebook.name, graded) if graded else {}
            for grade in sorted(notebook.grades, key=lambda grade: grade.name):
                name = grade.name.removesuffix(CHECK)
                if grade.needs_manual_grade or grade.manual_score is not None or name in appeals:
                    yield MarkRow(
                        submission.student_id,
                        name,
                        None if grade.needs_manual_grade else grade.manual_score,
                        grade.max_score,
                        grade.auto_score,
                        comment=_comment(gradebook, grade).manual_comment or "",
                        appeal=appeals.get(name, ""),
                        answer=answers.get(name, ""),
                    )


def _graded(courses: CourseDirectory, assignment: str, student: str, notebook: str) -> NotebookNode | None:
    folder = courses.format_path(courses.autograded_directory, student, assignment)
    path = Path(courses.root, folder, f"{notebook}.ipynb")
    return nbformat.read(path, as_version=4) if path.is_file() else None


def read_back(courses: CourseDirectory, assignment: str, files: Sequence[Path], skip_bad_rows: bool) -> int:
    """Gives the marks in the files, prints a line for each change, and returns the exit status. Where a row is bad
    nothing changes, or with ``skip_bad_rows`` the others alone. Raises NoCourse, BadMark.
    """
    rubric = rubric_in(Path(courses.root) / RUBRIC, assignment)
    read = [row for path in files for row in rows_in(path)]
    with Gradebook(courses.db_url) as gradebook:
        reasons = functools.cache(functools.partial(_reasons, courses, assignment, AppealReader(courses, assignment)))
        checked = list(_checked(gradebook, assignment, read, rubric, reasons))
        bad = [mark for mark in checked if isinstance(mark, BadMark)]
        for error in bad:
            print(error, file=sys.stderr)
        if bad and not skip_bad_rows:
            rows = count(len(bad), "row")
            print(
                f"Nothing was changed, because of {rows}. Mend them, or take the others: --skip-bad-rows",
                file=sys.stderr,
            )
            return Exit.NOT_PASSED
        changes = [line for mark in checked if isinstance(mark, GivenMark) for line in _give(gradebook, mark)]
        gradebook.db.commit()
    print("\n".join([*changes, f"{count(len(read) - len(bad), 'row')} read, {count(len(changes), 'change')}."]))
    if changes:
        print(f"If lateness costs points, take them anew: nbgrader autograde {assignment}")
    return Exit.NOT_PASSED if bad else Exit.PASSED


def _reasons(
    courses: CourseDirectory, assignment: str, reader: AppealReader, student: str, name: str
) -> Mapping[str, str]:
    """The reasons of a student's appeals by answer, in the notebook of this name."""
    graded = _graded(courses, assignment, student, name)
    return reader.reasons(student, name, graded) if graded else {}


def _checked(
    gradebook: Gradebook, assignment: str, rows: Iterable[MarkRow | BadMark], rubric: Rubric, reasons: Reasons
) -> Iterator[GivenMark | BadMark]:
    """Each row with its grade, or why it cannot be given. reasons: those of appeals, of a student and a notebook."""
    seen: dict[tuple[str, str], MarkRow] = {}
    for row in rows:
        if isinstance(row, BadMark):
            yield row
            continue
        row = replace(row, question=row.question.removesuffix(CHECK))
        first = seen.setdefault((row.student, row.question), row)
        try:
            if first is not row and replace(first, place="") != replace(row, place=""):
                raise BadMark(
                    f"{row.place}: {row.student}, {row.question} is marked otherwise in {first.place}; keep one"
                )
            mark = _mark(gradebook, assignment, row, rubric)
            reason = reasons(row.student, mark.grade.notebook.name).get(row.question, "")
            yield _decided(mark, reason, _comment(gradebook, mark.grade).manual_comment or "") if reason else mark
        except BadMark as error:
            yield error


def _mark(gradebook: Gradebook, assignment: str, row: MarkRow, rubric: Rubric) -> GivenMark:
    """Raises BadMark."""
    grade = _grade(gradebook, assignment, row)
    known = [line for question, line in rubric if question == row.question]
    if unknown := [line for line in row.rubric if line not in known]:
        there = f"there are {', '.join(known)}" if known else f"{RUBRIC} has none of {assignment}/{row.question}"
        raise BadMark(f"{row.place}: the rubric has no line {unknown[0]!r} for {row.question}; {there}")
    lines = [rubric[row.question, line] for line in row.rubric]
    points = sum(line.points for line in lines) if row.points is None and lines else row.points
    if points is not None and not 0 <= points <= grade.max_score + (grade.extra_credit or 0.0):
        raise BadMark(f"{row.place}: {points:g} points, of at most {grade.max_score:g}; give 0 to {grade.max_score:g}")
    return GivenMark(row, grade, points, "\n".join(filter(None, [*(line.comment for line in lines), row.comment])))


def _decided(mark: GivenMark, reason: str, comment: str) -> GivenMark:
    """The mark; where an appeal with this reason waits, with a comment that decides it. comment: as it is now. Raises
    BadMark.
    """
    grade, row = mark.grade, mark.row
    before = None if grade.needs_manual_grade else grade.score
    points = before if mark.points is None else mark.points
    if is_decided(comment, reason) or points is None or (points == before and mark.comment in ("", comment)):
        return mark
    if mark.comment in ("", comment):
        raise BadMark(f"{row.place}: {row.student} appeals about {row.question}; write the reason of {points:g} points")
    return replace(mark, comment=decision(reason, before, points, grade.max_score, mark.comment))


def _grade(gradebook: Gradebook, assignment: str, row: MarkRow) -> Grade:
    """Raises BadMark."""
    try:
        submission = gradebook.find_submission(assignment, row.student)
    except MissingEntry:
        students = [student.id for student in gradebook.students]
        if row.student in students:
            raise BadMark(f"{row.place}: {row.student} has nothing graded in {assignment}; take the row out") from None
        raise BadMark(f"{row.place}: there is no student {row.student!r}{_meant(row.student, students)}") from None
    grades = {grade.name.removesuffix(CHECK): grade for notebook in submission.notebooks for grade in notebook.grades}
    if row.question not in grades:
        raise BadMark(f"{row.place}: {assignment} has no question {row.question!r}{_meant(row.question, list(grades))}")
    return grades[row.question]


def _meant(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"; {close[0]} is meant?" if close else f"; there are {', '.join(sorted(known)[:10])}"


def _comment(gradebook: Gradebook, grade: Grade) -> Comment:
    notebook = grade.notebook
    place = notebook.name, notebook.assignment.name, notebook.student.id
    return gradebook.find_comment(grade.name.removesuffix(CHECK), *place)


def _give(gradebook: Gradebook, mark: GivenMark) -> Iterator[str]:
    """Gives the points and the comment; what a row leaves empty stays. A line for each that differs."""
    who = f"{mark.row.student}, {mark.row.question}"
    grade, comment = mark.grade, _comment(gradebook, mark.grade)
    if mark.points is not None and (grade.needs_manual_grade or grade.manual_score != mark.points):
        before = "none" if grade.manual_score is None else f"{grade.manual_score:g}"
        grade.manual_score, grade.needs_manual_grade = mark.points, False
        yield f"{who}: points {before} -> {mark.points:g}"
    if mark.comment and comment.manual_comment != mark.comment:
        before = comment.manual_comment
        comment.manual_comment = mark.comment
        yield f"{who}: comment {before!r} -> {mark.comment!r}" if before else f"{who}: comment {mark.comment!r}"
