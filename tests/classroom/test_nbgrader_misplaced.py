"""Runs of ``nbgrader autograde`` for which nothing lies where nbgrader looks: what lies elsewhere is listed."""

import re
import subprocess
from pathlib import Path

import classroom
import pytest
from classroom import api, assert_success, scores
from nbgrader.api import Gradebook


@pytest.fixture
def misplaced(made_course, tmp_path) -> Path:
    course = classroom.copied(made_course, tmp_path)
    for folder in ("tiny/ada", "bob", "cid/1_tiny", "cid/tiny_old", "dora/unclear", "eve/tiny"):
        (course / "submitted" / folder).mkdir(parents=True)
    (course / "submitted" / "eve" / "tiny" / "answers.zip").touch()
    text = (course / "release" / "tiny" / "tiny.ipynb").read_text()
    for path in ("tiny/ada/tiny.ipynb", "bob/tiny.ipynb", "cid/1_tiny/tiny (1).ipynb", "dora/unclear/homework.ipynb"):
        (course / "submitted" / path).write_text(text)
    return course


def test_where_nothing_lies_in_place_what_does_lie_there_is_listed(misplaced):
    result = api(misplaced).autograde("tiny", "*")
    log = result["log"]
    assert not result["success"]
    assert "Summary: 0 graded" in log
    assert "submitted/tiny/ada/tiny.ipynb: mkdir -p submitted/ada/tiny && mv -n submitted/tiny/ada/tiny.ipynb" in log
    assert "submitted/bob/tiny.ipynb: mkdir -p submitted/bob/tiny && mv -n submitted/bob/tiny.ipynb" in log
    assert "submitted/cid/tiny/tiny.ipynb" in log
    assert "homework.ipynb: it is not clear which assignment" in log
    assert "submitted/eve/tiny: holds no notebook, only answers.zip" in log
    with Gradebook(f"sqlite:///{misplaced}/gradebook.db") as gradebook:
        assert gradebook.students == []


def test_a_student_asked_for_by_name_is_looked_for_elsewhere_too(misplaced):
    log = api(misplaced).autograde("tiny", "bob")["log"]
    assert "submitted/bob/tiny.ipynb: mkdir -p" in log
    assert "ada" not in log


@pytest.mark.exhaustive
def test_the_commands_that_are_listed_put_the_notebooks_in_place(misplaced):
    log = api(misplaced).autograde("tiny", "*")["log"]
    commands = re.findall(r"ipynb: (mkdir -p .*)", log)
    assert len(commands) == 3
    for command in commands:
        subprocess.run(command, shell=True, cwd=misplaced, check=True)
    assert_success(api(misplaced).autograde("tiny", "*"))
    for student in ("ada", "bob", "cid"):  # whose notebooks are as they were released
        assert set(scores(misplaced, student).values()) == {0.0}
