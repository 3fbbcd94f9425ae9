"""``graded-kernels extend``: lateness counts from a due date of one's own, also where nothing was handed in yet."""

import csv
import json
import time

import nbformat
import pytest
from classroom import api, assert_success, copied, place, right_answers
from graded_kernels.autograder import cli
from graded_kernels.autograder.classroom.nbgrader.export import Grades
from graded_kernels.autograder.classroom.nbgrader.rebuild import grade_id
from nbgrader.api import Gradebook
from nbgrader.apps import ExportApp
from nbgrader.coursedir import CourseDirectory
from tampered import WORDS


@pytest.fixture
def course(made_course, tmp_path):
    made = copied(made_course, tmp_path)
    with Gradebook(f"sqlite:///{made}/gradebook.db") as gradebook:
        gradebook.update_or_create_assignment("tiny", duedate="2026-01-01 10:00:00 UTC")
        gradebook.add_student("ann")
    return made


def extend(course, student: str, assignment: str, days: str, unit: str = "--days") -> int:
    return cli.main(["extend", student, assignment, unit, days, "--course", str(course)])


@pytest.fixture
def in_berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def row(course) -> dict[str, str]:
    """What grades.csv says of the only student in the assignment."""
    app = ExportApp()
    app.coursedir = CourseDirectory(root=str(course))
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        Grades(parent=app, to=str(course / "grades.csv")).export(gradebook)
    rows = csv.DictReader((course / "grades.csv").read_text(encoding="utf-8-sig").splitlines())
    (found,) = (row for row in rows if row["assignment"] == "tiny")
    return found


def test_lateness_counts_from_the_students_own_due_date(course, capsys):
    assert extend(course, "ann", "tiny", "3") == 0
    assert capsys.readouterr().out.startswith("ann, tiny: due 2026-01-04 10:00 UTC\n")
    before = row(course)
    assert (before["status"], before["score"], before["duedate"]) == ("never handed in", "", "2026-01-04 10:00:00")
    made = api(course)
    assert made.get_submissions("tiny") == []  # formgrader's list of what can be graded

    made.config.AssignLatePenalties.plugin_class = "graded_kernels.autograder.classroom.nbgrader.points.PerDay"
    made.config.PerDay.share = 0.1
    place(course, "ann").write_text(json.dumps(right_answers(course)))
    place(course, "ann").with_name("timestamp.txt").write_text("2026-01-02 09:00:00 UTC")
    assert (row(course)["status"], row(course)["score"]) == ("not graded yet", "")

    def lines() -> list[str]:
        result = made.autograde("tiny", "ann", force=False)
        assert_success(result)
        return [line.strip() for line in result["log"].splitlines() if "taken off" in line]

    assert lines() == []
    assert extend(course, "ann", "tiny", "0") == 0
    assert lines() == ["ann, tiny: 0.4 points taken off, before 0"]
    assert extend(course, "ann", "tiny", "1") == 0
    assert lines() == ["ann, tiny: 0 points taken off, before 0.4"]


def test_extensions_in_minutes_are_listed_with_the_local_time(course, in_berlin, capsys):
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        gradebook.add_student("bob")

    def listed() -> str:
        assert cli.main(["extend", "--list", "--course", str(course)]) == 0
        return capsys.readouterr().out

    assert listed() == "Nobody has an extension.\n"
    assert extend(course, "ann", "tiny", "30", "--minutes") == 0
    assert capsys.readouterr().out.startswith("ann, tiny: due 2026-01-01 10:30 UTC (11:30 CET)\n")
    assert extend(course, "bob", "tiny", "1") == 0
    capsys.readouterr()
    assert listed() == (
        "tiny  ann  due 2026-01-01 10:30 UTC (11:30 CET), 30 minutes after the class\n"
        "tiny  bob  due 2026-01-02 10:00 UTC (11:00 CET), 1 day after the class\n"
    )
    assert extend(course, "ann", "tiny", "0", "--minutes") == 0
    capsys.readouterr()
    assert "ann" not in listed()


@pytest.mark.parametrize("arguments", [["--list", "ann"], ["ann", "--days", "3"]])
def test_a_student_and_an_assignment_are_named_together_or_not_at_all(course, capsys, arguments):
    assert cli.main(["extend", *arguments, "--course", str(course)]) == 2
    assert capsys.readouterr().err.startswith("graded-kernels: ")


def test_an_extension_does_not_keep_the_assignment_from_changing(course):
    """nbgrader changes no notebook that somebody's submission has."""
    assert extend(course, "ann", "tiny", "3") == 0
    source = course / "source" / "tiny" / "tiny.ipynb"
    notebook = nbformat.read(source, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if grade_id(cell) != WORDS]
    nbformat.write(notebook, source)
    assert_success(api(course).generate_assignment("tiny", force=True))
    place(course, "ann").write_text(json.dumps(right_answers(course)))
    assert_success(api(course).autograde("tiny", "ann"))
    assert (row(course)["status"], row(course)["duedate"]) == ("graded", "2026-01-04 10:00:00")


@pytest.mark.parametrize(
    ("student", "assignment", "sentence"),
    [
        ("ann", "tinny", "no assignment tinny in the gradebook; there are: "),
        ("eve", "tiny", "no student eve in the gradebook; add one: nbgrader db student add eve"),
        ("ann", "undated", "undated has no due date to extend; set one: "),
    ],
)
def test_what_is_missing_is_said_in_a_sentence(course, capsys, student, assignment, sentence):
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        gradebook.add_assignment("undated")
    assert extend(course, student, assignment, "3") == 2
    assert capsys.readouterr().err.startswith(f"graded-kernels: {sentence}")


@pytest.mark.parametrize("days", ["-1", "two", "400"])
def test_days_are_a_number(course, capsys, days):
    with pytest.raises(SystemExit):
        extend(course, "ann", "tiny", days)
    assert "days" in capsys.readouterr().err
