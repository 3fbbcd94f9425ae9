"""How Canvas and Moodle read a table of grades: their importers' rules, in Python, for the tests of what we export.

Written after instructure/canvas-lms, lib/gradebook_importer.rb at 00b222d77ee4, and moodle/moodle,
grade/import/csv/classes/load_data.php at 0289d8c76654. Each raises Refused where the importer gives the whole file up.
"""

import csv
import re
from pathlib import Path

NO_SCORES = re.compile("(Current|Final) (Score|Points|Grade)|Override (Score|Grade|Status)")
MOST = 100.0  # Moodle's highest grade, unless it is set up for more


class Refused(Exception):
    """The importer reads nothing of the file."""


def canvas(path: Path, students: list[dict], titles: dict[int, str]) -> tuple[dict, dict]:
    """(the points possible by assignment, the grade by student and assignment). students: of the course, each with
    ``id``, ``sis``, ``login`` and ``name``; titles: of its assignments, by number. Who is not found is "new".
    """
    text = path.read_bytes().decode()  # with the byte order mark: it is part of the first cell
    lines = [line for line in csv.reader(text.splitlines()) if not re.fullmatch("[;, ]+", ",".join(line))]
    header = lines[0]
    if not (len(header) > 3 and "Student" in header[0] and "ID" in header[1]):
        raise Refused("no Student and ID")
    columns, user, login = 3, None, None
    if re.search(r"SIS\s+Login\s+ID", header[2]):
        columns, login = 4, 2
    elif re.search(r"SIS\s+User\s+ID", header[2]) and re.search(r"SIS\s+Login\s+ID", header[3]):
        columns, user, login = 5, 2, 3
    if "Section" not in header[columns - 1]:
        raise Refused("the last column about a student is no Section")
    found = {name: _assignment(name, titles) for name in header[columns:] if not NO_SCORES.search(name)}
    possible, grades = {}, {}
    for line in lines[1:]:
        cells = {found[name]: _number(line[header.index(name)].strip()) for name in found}
        if "Points Possible" in line[0]:
            possible = cells
        elif not all(re.fullmatch(r"(?i)\s*(muted|manual posting.*)?\s*", cell) for cell in line):
            grades[_student(line, students, user, login)] = cells
    return possible, grades


def _assignment(name: str, titles: dict[int, str]) -> str:
    numbered = re.fullmatch(r"(?s)(.*)\s\((\d+)\)", name)
    if numbered and int(numbered[2]) in titles:
        return titles[int(numbered[2])]
    return name if name in titles.values() else f"new: {name}"


def _student(line: list[str], students: list[dict], user: int | None, login: int | None) -> str:
    number = re.match(r"\d+", line[1])
    for wanted, key in (
        (int(number[0]) if number else 0, "id"),
        (user and line[user], "sis"),
        (login and line[login], "login"),
        (line[0], "name"),
    ):
        for student in students:
            if wanted and student[key] == wanted:
                return student["sis"]
    return f"new: {line[0]}"


def _number(cell: str) -> str:
    """Commas and points: the last one is the decimal one."""
    if not re.fullmatch(r"-?[0-9.,]+%?", cell):
        return cell
    *rest, last = re.split("[,.]", cell)
    return f"{''.join(rest)}.{last}" if rest else last


def moodle(path: Path, by: str, users: dict[str, str], mapped: dict[str, str]) -> dict:
    """The grade by user and grade item. by: the column that a person maps to what identifies users; users: theirs, by
    that; mapped: the column of each grade item, and ``new`` for one to be made. The other columns are ignored.
    """
    header, *lines = csv.reader(path.read_text(encoding="utf-8-sig").splitlines())
    grades: dict = {}
    user = None  # not forgotten from line to line
    for line in lines:
        if len(line) != len(header):
            raise Refused("a line has another number of columns")
        row = {name: cell.strip() for name, cell in zip(header, line, strict=True)}
        if row[by]:
            if row[by] not in users:
                raise Refused(f"no user {row[by]}")
            user = users[row[by]]
        if user is None:
            raise Refused("user not found")
        for column, item in mapped.items():
            grades[user, column] = _grade(row[column], item)
    return grades


def _grade(cell: str, item: str) -> float | None:
    if cell == "-":
        return None
    if cell == "":
        return 0.0 if item == "new" else None
    try:
        grade = float(cell)
    except ValueError:
        raise Refused(f"{cell!r} is no grade") from None
    if grade > MOST:
        raise Refused(f"{grade} is too high")
    return grade
