"""``graded-kernels answers``: a chapter's answers are given out when nobody can hand in any more."""

import shutil
from datetime import UTC, datetime, timedelta

import nbformat
import pytest
from graded_kernels.autograder import cli
from graded_kernels.course import cells
from graded_kernels.course.build import ROOT
from nbgrader.api import Gradebook

ANSWER = "def f(x):\n    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION"


@pytest.fixture
def course(tmp_path):
    shutil.copy(ROOT / "course" / "nbgrader_config.py", tmp_path)
    folder = tmp_path / "source" / "tiny"
    folder.mkdir(parents=True)
    made = nbformat.v4.new_notebook(
        cells=[cells.answer(ANSWER, "f-torch"), cells.question("Half for a limit.", "why", 3)]
    )
    nbformat.write(made, folder / "tiny.ipynb")
    (folder / "f_record.py").write_text("f = 1\n")
    return tmp_path


def due(course, hours: float, extension: float = 0) -> None:
    """Due so many hours from now, and for ann with an extension of so many more."""
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        moment = datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=hours)
        gradebook.update_or_create_assignment("tiny", duedate=moment)
        gradebook.update_or_create_student("ann")
        submission = gradebook.update_or_create_submission("tiny", "ann")
        submission.extension = timedelta(hours=extension) if extension else None
        gradebook.db.commit()


def answers(course, *arguments: str) -> int:
    return cli.main(["answers", "tiny", *arguments, "--course", str(course)])


def test_they_are_written_after_the_last_due_date(course, capsys):
    for hours, extension, whose in ((1, 0, "the class"), (-1, 2, "ann")):
        due(course, hours, extension)
        assert answers(course) == 2
        assert f" for {whose}. To give the answers before: --now" in capsys.readouterr().err
        assert not (course / "solution").exists()
    due(course, -2, 1)
    assert answers(course) == 0
    folder = course / "solution" / "tiny"
    assert capsys.readouterr().out.split() == [str(folder / name) for name in ("tiny.ipynb", "f_record.py")]
    answer, question = nbformat.read(folder / "tiny.ipynb", as_version=4).cells
    assert answer.source == "def f(x):\n    return x\n"
    assert question.source == ""


def test_a_teacher_may_give_them_before(course):
    due(course, 1)
    assert answers(course, "--now") == 0


def test_without_a_due_date_nothing_is_given(course, capsys):
    assert answers(course) == 2
    assert "tiny" in capsys.readouterr().err
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        gradebook.add_assignment("tiny")
    assert answers(course) == 2
    assert "tiny has no due date after which to give its answers; set one: nbgrader db" in capsys.readouterr().err
    assert not (course / "solution").exists()
