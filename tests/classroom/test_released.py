"""What was released stays where a new release fails; without an entry in the gradebook nothing is graded by it."""

import os
from pathlib import Path

import pytest
from classroom import api, ask_alembic, assert_success, copied, place
from graded_kernels.autograder.classroom import grade
from graded_kernels.autograder.classroom.nbgrader.solution_marks import END
from graded_kernels.autograder.words import Exit
from graded_kernels.course.build import ROOT
from nbgrader.api import Gradebook


@pytest.fixture
def course(made_course, tmp_path) -> Path:
    return copied(made_course, tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_release_that_fails_leaves_what_was_released(course):
    source, released = course / "source/tiny/tiny.ipynb", course / "release/tiny"
    before, text = contents(released), source.read_text()
    source.write_text(text.replace(END, ""))
    (source.parent / "more").mkdir()
    (source.parent / "more/notes.txt").write_text("new")
    result = api(course).generate_assignment("tiny", force=True)
    assert not result["success"]
    assert f"{released / 'tiny.ipynb'} is as it was released before." in result["log"]
    assert contents(released) == before

    source.write_text(text)
    assert_success(api(course).generate_assignment("tiny", force=True))
    assert contents(released).keys() == {*before, "more/notes.txt"}


def test_advice_for_code_models_lies_beside_a_released_notebook(course):
    """That of the course, unless the assignment brings its own."""
    (course / "AGENTS.md").write_text("of the course")
    assert_success(api(course).generate_assignment("tiny", force=True))
    assert (course / "release/tiny/AGENTS.md").read_text() == "of the course"

    (course / "source/tiny/AGENTS.md").write_text("of the assignment")
    assert_success(api(course).generate_assignment("tiny", force=True))
    assert (course / "release/tiny/AGENTS.md").read_text() == "of the assignment"
    assert (ROOT / "course/AGENTS.md").exists(), "which is what a class gets"


def test_nothing_is_checked_for_an_assignment_that_the_gradebook_has_not(course, capsys):
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        gradebook.remove_assignment("tiny")
    place(course, "ada").write_bytes((course / "release/tiny/tiny.ipynb").read_bytes())
    missing = "The gradebook has no tiny/tiny. Enter it: nbgrader generate_assignment tiny --force"
    assert grade.grade("tiny", lambda level: pytest.fail("a verdict was asked for"), course) == Exit.USAGE
    assert missing in capsys.readouterr().err
    assert f"Nothing was graded: {missing}" in api(course).autograde("tiny", "*")["log"]


def test_a_gradebook_is_made_with_nbgrader_that_is_not_on_the_path(course, monkeypatch):
    """nbgrader calls `alembic` by its bare name."""
    (course / "gradebook.db").unlink()
    monkeypatch.setattr("nbgrader.api.get_alembic_version", ask_alembic)
    monkeypatch.setenv("PATH", os.defpath)
    assert_success(api(course).generate_assignment("tiny", force=True))
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        assert [one.name for one in gradebook.assignments] == ["tiny"]
