"""Tables of grades: what was not handed in, what waits for a person and 0 points are three things; no cell is run."""

import csv
import json
from types import SimpleNamespace

import lms
import pytest
from classroom import copied, place, right_answers
from graded_kernels.autograder.classroom.nbgrader import export
from graded_kernels.autograder.classroom.nbgrader.export import ByExercise, Canvas, Grades, Wide, safe
from nbgrader.api import Gradebook
from nbgrader.apps import ExportApp
from nbgrader.coursedir import CourseDirectory
from tampered import TORCH, WITNESS, WORDS
from traitlets.config import Config

HOSTILE = '=HYPERLINK("http://evil","x")'
NAMES = {"zero": ("Ada, Countess", "of Lovelace"), "waits": (HOSTILE, "Émilie"), "never": ('O"Neil', "")}
NAMES |= {"half": ("+1", "-2"), "begun": ("\t@x", "")}


@pytest.fixture(scope="module")
def course(made_course, tmp_path_factory):
    """A class of which one got 0, one waits for a person, one handed in nothing, one is half graded by hand and late,
    and one was handed in and not graded.
    """
    made = copied(made_course, tmp_path_factory.mktemp("export"))
    for student in ("zero", "waits", "half", "begun"):
        place(made, student).write_text(json.dumps(right_answers(made)))
    for student in ("zero", "waits", "half"):
        graded = made / "autograded" / student / "tiny"
        graded.mkdir(parents=True)
        (graded / "tiny.ipynb").write_text("{}")
    scores = {"zero": (0.0, 0.0, 0.0), "waits": (2.0, None, None), "half": (2.0, 1.5, 3.0)}
    with Gradebook(f"sqlite:///{made}/gradebook.db") as gradebook:
        for student, (last, first) in NAMES.items():
            number = "4711" if student == "zero" else None
            gradebook.add_student(
                student, last_name=last, first_name=first, email=f"{student}@example.org", lms_user_id=number
            )
        gradebook.update_or_create_assignment("tiny", duedate="2026-11-20 12:00:00 UTC")
        for student, given in scores.items():
            when = "2026-11-22 13:00:00 UTC" if student == "half" else "2026-11-19 13:00:00 UTC"
            gradebook.update_or_create_submission("tiny", student, timestamp=when)
            for cell, points in zip((f"{WITNESS}-check", f"{TORCH}-check", WORDS), given, strict=True):
                grade = gradebook.find_grade(cell, "tiny", "tiny", student)
                grade.auto_score, grade.needs_manual_grade = points, points is None
        gradebook.db.commit()
    return made


def table(course, plugin: type[Grades], **settings) -> list[dict]:
    to = course / f"{plugin.__name__}.csv"
    app = ExportApp()
    app.coursedir = CourseDirectory(root=str(course))
    exporter = plugin(parent=app, to=str(to), assignment=["tiny"], **settings)
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        exporter.export(gradebook)
    return list(csv.DictReader(to.read_text(encoding="utf-8-sig").splitlines()))


def test_a_wide_table_has_a_row_for_each_student(course):
    rows = {row["Username"]: row for row in table(course, Wide)}
    assert {name: (row["tiny"], row["tiny status"], row["tiny late days"]) for name, row in rows.items()} == {
        "zero": ("0.0", "graded", "0"),
        "waits": ("-", "waits for a person", "0"),
        "never": ("-", "never handed in", ""),
        "half": ("6.5", "graded", "3"),
        "begun": ("-", "not graded yet", ""),
    }
    assert rows["zero"]["Last name"] == "Ada, Countess"
    assert rows["never"]["Last name"] == 'O"Neil'
    assert rows["zero"]["Email address"] == "zero@example.org"
    assert rows["zero"]["ID number"] == "4711"
    assert rows["half"]["ID number"] == "-"


def test_moodle_has_no_empty_score(course):
    """Where a column becomes a new grade item, Moodle takes "" for 0 (`normalise_value`), and "-" for no grade."""
    assert [row["tiny"] for row in table(course, Wide)].count("-") == 3
    assert safe("-") == "-"


@pytest.mark.parametrize(("login", "found"), [("student_id", "zero"), ("email", "zero@example.org")])
def test_canvas_finds_a_student_by_its_number_and_login(course, login, found):
    (zero,) = (row for row in table(course, Canvas, login=login) if row["SIS User ID"] == "zero")
    assert (zero["ID"], zero["SIS Login ID"]) == ("4711", found)


def test_canvas_gets_its_heading_and_no_score_that_is_none(course):
    possible, *rows = table(course, Canvas)
    assert possible["Student"] == "    Points Possible"
    assert possible["tiny"] == "7.0"
    assert {row["SIS User ID"]: row["tiny"] for row in rows} == {
        "zero": "0.0",
        "waits": "",
        "never": "",
        "half": "6.5",
        "begun": "",
    }
    assert list(possible) == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "tiny"]


def test_canvas_reads_its_table(course):
    """By the rules of its importer: every student is found, by whatever Canvas knows, and no score is made of none."""
    table(course, Canvas)
    students = [{"id": 4711, "sis": "zero", "login": "x", "name": "x"}]
    students += [{"id": 0, "sis": student, "login": "x", "name": "x"} for student in ("waits", "half", "begun")]
    students += [{"id": 0, "sis": "other", "login": "never", "name": "x"}]
    possible, grades = lms.canvas(course / "Canvas.csv", students, {1: "tiny"})
    assert possible == {"tiny": "7.0"}
    scores = {"zero": "0.0", "waits": "", "half": "6.5", "begun": "", "other": ""}
    assert grades == {student: {"tiny": score} for student, score in scores.items()}


@pytest.mark.parametrize("item", ["new", "4"])
def test_moodle_reads_its_table(course, item):
    table(course, Wide)
    grades = lms.moodle(course / "Wide.csv", "Username", dict(zip(NAMES, NAMES, strict=True)), {"tiny": item})
    scores = {"zero": 0.0, "waits": None, "never": None, "half": 6.5, "begun": None}
    assert grades == {(student, "tiny"): score for student, score in scores.items()}


def test_moodle_gives_nobody_grades_where_a_number_is_missing(course):
    """Where the cell that identifies a user is empty, Moodle goes on with the user of the line before."""
    table(course, Wide)
    with pytest.raises(lms.Refused, match="no user -"):
        lms.moodle(course / "Wide.csv", "ID number", {"4711": "zero"}, {"tiny": "new"})


def test_by_exercise_the_three_differ_as_well(course):
    found = {(row["student_id"], row["exercise"]): (row["status"], row["points"]) for row in table(course, ByExercise)}
    assert found["zero", TORCH] == ("graded", "0.0")
    assert found["half", TORCH] == ("graded", "1.5")
    assert found["waits", TORCH] == ("waits for a person", "")
    assert found["waits", WITNESS] == ("graded", "2.0")
    assert found["never", TORCH] == ("never handed in", "")
    assert found["begun", TORCH] == ("not graded yet", "")
    assert len(found) == 3 * len(NAMES)


@pytest.mark.parametrize("plugin", [Grades, Wide, Canvas, ByExercise])
def test_a_trial_account_is_in_no_table(course, plugin):
    """By the setting for all tables, which is `Grades`'s."""
    everybody = json.dumps(table(course, plugin))
    config = Config({"Grades": {"exclude": ["zero"]}})
    without = json.dumps(table(course, plugin, config=config))
    assert "zero" in everybody
    assert "zero" not in without
    assert "half" in without


@pytest.mark.parametrize("plugin", [Grades, Wide, Canvas, ByExercise])
def test_no_cell_is_a_formula(course, plugin):
    cells = [cell for row in table(course, plugin) for cell in row.values()]
    assert f"'{HOSTILE}" in cells or any(cell.startswith(f"'{HOSTILE}") for cell in cells)
    assert not [cell for cell in cells if cell != "-" and cell.startswith(("=", "+", "-", "@", "\t"))]


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", "＝1"])
def test_what_begins_like_a_formula_is_text(text):
    assert safe(text) == f"'{text}"
    assert safe(-1.5) == "-1.5"
    assert safe(None) == ""
    assert safe("a=1") == "a=1"


def test_a_sum_of_points_is_a_decimal_number():
    points = [0.1, 0.2, 2.92]
    assert str(sum(points)) != "3.22"
    assert safe(sum(points)) == "3.22"
    assert safe(21.0) == "21.0"
    assert safe(24) == "24"


def test_the_order_is_not_the_databases(monkeypatch, tmp_path):
    """PostgreSQL puts what is missing last, and orders names by a language's rules; SQLite does neither."""
    monkeypatch.setattr(export, "_row", lambda gradebook, assignment, student: {"of": (assignment.name, student.id)})
    monkeypatch.setattr(export, "_has_files", lambda *where: False)
    people = [("c", None), ("b", None), ("a", "Émile"), ("d", "Zoë")]
    students = [SimpleNamespace(id=one, last_name=last, first_name=None) for one, last in people]
    assignments = [SimpleNamespace(name=name, duedate=due) for name, due in (("02", None), ("01", None), ("00", 2026))]
    book = SimpleNamespace(assignments=assignments, students=students)
    found = [row["of"] for row in export.rows_of(book, None)]
    assert found == [(assignment, one) for assignment in ("01", "02", "00") for one in "bcda"]
