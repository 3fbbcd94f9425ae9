"""Folders in ``submitted/`` whose names nbgrader cannot work with are listed and left out; the rest goes on."""

import json
import os
from pathlib import Path

import pytest
from classroom import api, copied, right_answers, scores
from graded_kernels.autograder.classroom.nbgrader.other_files import unfit
from tampered import FULL

ODD = (b"line\nbreak", b"latin-\xe9", b"brackets [ab]", b"star*", b"escape\x1b[31m")


@pytest.fixture(scope="module")
def course(made_course, tmp_path_factory) -> Path:
    course = copied(made_course, tmp_path_factory.mktemp("names"))
    for name in (b"ada", *ODD):
        folder = os.path.join(os.fsencode(course), b"submitted", name, b"tiny")
        os.makedirs(folder)
        with open(os.path.join(folder, b"tiny.ipynb"), "w") as file:
            json.dump(right_answers(course), file)
    return course


@pytest.fixture(scope="module")
def lines(course) -> list[str]:
    return [line.strip() for line in api(course).autograde("tiny", "*")["log"].splitlines()]


def test_the_others_are_graded(course, lines):
    assert scores(course, "ada") == FULL
    assert any("Summary: 1 graded" in line for line in lines)


@pytest.mark.parametrize(
    "shown, reason",
    [
        ("line?break", "holds what no line can show"),
        ("latin-?", "holds what no line can show"),
        ("escape?[31m", "holds what no line can show"),
        ("brackets [ab]", "nbgrader takes [ and ] in a name for a pattern; rename it"),
        ("star*", "nbgrader takes * in a name for a pattern; rename it"),
    ],
)
def test_each_is_listed_with_the_reason(lines, shown, reason):
    (line,) = [line for line in lines if line.startswith(f"submitted/{shown}: ")]
    assert reason in line


def test_where_there_are_no_others_they_are_listed_too(course):
    result = api(course).autograde("tiny", "[!a]*")
    assert not result["success"]
    assert "submitted/latin-?: its name holds what no line can show" in result["log"]


@pytest.mark.parametrize("name", ["ada", "Müller, K.", "o'brien+2", "李", "a b", "{x}", "$HOME", "-rf", "(1)"])
def test_other_names_are_fit(name):
    assert not unfit(name)
