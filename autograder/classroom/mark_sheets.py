"""Marks by hand in a CSV: a file for each assistant, and its rows as they come back from a spreadsheet."""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .nbgrader.export import FORMULA, safe

COLUMNS = ("student", "question", "points", "of", "automatic", "rubric", "comment", "appeal", "answer")
NEEDED = ("student", "question", "points", "comment")
LONGEST = 4_000  # characters of an answer: a cell of a spreadsheet holds 32,767, and formgrader shows all of it


@dataclass(frozen=True)
class MarkRow:
    """A row. points: None where none are given; automatic: the points of a check, None where there is none; rubric:
    names of lines of the rubric; appeal: the learner's reason, "" where there is none; place: ``marks.csv, line 3``.
    """

    student: str
    question: str
    points: float | None = None
    most: float = 0.0
    automatic: float | None = None
    rubric: tuple[str, ...] = ()
    comment: str = ""
    appeal: str = ""
    answer: str = ""
    place: str = ""


@dataclass(frozen=True)
class RubricLine:
    """A line of the rubric of a question: what is given or taken for it, and the comment that the student reads."""

    points: float
    comment: str


Rubric = Mapping[tuple[str, str], RubricLine]  # by question and name of the line


class BadMark(ValueError):
    """A row that cannot be read; the message names its place and the fix."""


def sheet(rows: Iterable[MarkRow]) -> str:
    """The text of a file with these rows, an empty cell where no points are given."""
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(COLUMNS)
    for row in rows:
        points, automatic = ("" if number is None else f"{number:g}" for number in (row.points, row.automatic))
        before = (row.student, row.question, points, f"{row.most:g}", automatic, "")
        cells = (*before, row.comment, row.appeal, row.answer[:LONGEST])
        table.writerow([safe(cell) for cell in cells])
    return text.getvalue()


def shared(rows: Sequence[MarkRow], assistants: Sequence[str]) -> dict[str, list[MarkRow]]:
    """The rows by assistant: each student's are one assistant's, and students are shared evenly."""
    students = list(dict.fromkeys(row.student for row in rows))
    whose = {student: assistants[number % len(assistants)] for number, student in enumerate(students)}
    return {name: [row for row in rows if whose[row.student] == name] for name in assistants}


def rows_in(path: Path) -> Iterator[MarkRow | BadMark]:
    """The rows of a file, comma or semicolon between its cells; in place of one that cannot be read, why. Rows without
    points, rubric and comment are left out. Raises BadMark where the file is none.
    """
    for line, cells in _lines(path, NEEDED):
        place = f"{path.name}, line {line}"
        try:
            row = _row(cells, place)
        except BadMark as error:
            yield error
            continue
        if row.points is not None or row.rubric or row.comment:
            yield row


def rubric_in(path: Path, assignment: str) -> dict[tuple[str, str], RubricLine]:
    """The lines of a rubric file, with the columns question (``01_silu/silu_epsilon``), line, points and comment, that
    are about the assignment. Raises BadMark.
    """
    rubric: dict[tuple[str, str], RubricLine] = {}
    for number, cells in _lines(path, ("question", "line", "points", "comment")) if path.is_file() else ():
        place = f"{path.name}, line {number}"
        where, _, question = cells["question"].rpartition("/")
        if not where:
            raise BadMark(f"{place}: {question!r} names no assignment; write {assignment}/{question}")
        if " " in cells["line"] or not cells["line"]:
            raise BadMark(f"{place}: {cells['line']!r} is no name of a line; use one word")
        if where == assignment:
            points = _number(cells["points"], place)
            rubric[question, cells["line"]] = RubricLine(points or 0.0, cells["comment"])
    return rubric


def _row(cells: Mapping[str, str], place: str) -> MarkRow:
    if not cells["student"] or not cells["question"]:
        raise BadMark(f"{place}: it names no student or no question; copy both from the file that was written")
    points = _number(cells["points"], place)
    rubric = tuple(cells.get("rubric", "").replace(",", " ").split())
    return MarkRow(cells["student"], cells["question"], points, rubric=rubric, comment=cells["comment"], place=place)


def _number(text: str, place: str) -> float | None:
    """Reads ``1.5`` or ``1,5``; None where nothing stands there. Raises BadMark."""
    if not text:
        return None
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadMark(f"{place}: {text!r} is no number of points; write 1.5, or leave the cell empty")
    return value


def _lines(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The number and the cells by column of each line that holds anything. Raises BadMark."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise BadMark(f"{path} is not in UTF-8; save it from the spreadsheet as CSV UTF-8") from None
    except OSError as error:
        raise BadMark(f"{path} cannot be read: {error.strerror}") from None
    heading = text.partition("\n")[0]
    table = csv.reader(io.StringIO(text), delimiter=";" if heading.count(";") > heading.count(",") else ",")
    columns = [name.strip().lower() for name in next(table, [])]
    if missing := [name for name in needed if name not in columns]:
        raise BadMark(f"{path} has no column {', '.join(missing)}; its first line is {','.join(needed)}")
    for cells in table:
        if any(cell.strip() for cell in cells):
            padded = [*map(_plain, cells), *[""] * len(columns)]
            yield table.line_num, dict(zip(columns, padded, strict=False))


def _plain(cell: str) -> str:
    """A cell as it was before `safe`."""
    text = cell.strip()
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text
