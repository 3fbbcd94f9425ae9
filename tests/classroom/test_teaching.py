"""What a teacher sets: cases of their own, limits, how answers are isolated. Through nbgrader, with real notebooks."""

import ast
import json
import re
import shutil
from pathlib import Path

import classroom
import grade_demo
import pytest
from classroom import (
    api,
    assert_success,
    grade,
    hand_in,
    hidden_case,
    place,
    right_answers,
    scores,
    shown,
    with_settings,
)
from graded_kernels.autograder.classroom.nbgrader import grade_cells as grading
from graded_kernels.autograder.classroom.nbgrader.autograde import Autograde
from graded_kernels.autograder.classroom.nbgrader.class_seed import FILE, class_seed
from graded_kernels.autograder.classroom.nbgrader.hints import Hints
from graded_kernels.autograder.classroom.nbgrader.points import PerDay
from graded_kernels.autograder.judge.verdicts import make as making
from graded_kernels.autograder.runner import SandboxError
from graded_kernels.autograder.runner.sandbox import answers
from graded_kernels.autograder.words import Pace
from tampered import FULL, TORCH, UNREAD

CHECK = f"{TORCH}-check"
SETTING = re.compile(r"^c\.(\w+)\.(\w+) = (.*?) *(?:#.*)?$", re.MULTILINE)


@pytest.fixture(scope="module")
def course(made_course, tmp_path_factory):
    return classroom.copied(made_course, tmp_path_factory.mktemp("teaching"))


@pytest.fixture
def own_worker():
    """None of another test's: whether one may be had is what a test is about."""
    before, making._shared = making._shared, None
    yield
    if making._shared:
        making._shared.close()
    making._shared = before


# Cases of a teacher's own


@pytest.fixture
def hidden(course):
    values = [0.0, -0.0, 0.7310585786, 4096.0625]
    path = hidden_case(course, "silu_forward", "around a secret", values, "Which number is 0 where it should not be?")
    yield path
    shutil.rmtree(path.parent)


def test_hidden_cases_count_and_show_no_value(course, hidden):
    hand_in(course, "hidden_right")
    hand_in(course, "hidden_wrong", "if x.numel() == 4: raise ValueError(str(x.tolist()))")
    assert_success(api(course).autograde("tiny", "hidden_*"))
    assert scores(course, "hidden_right") == FULL
    assert 0 < scores(course, "hidden_wrong")[TORCH] < FULL[TORCH]
    assert "hidden: around a secret" in shown(course, "hidden_wrong", CHECK)
    assert_success(api(course).generate_feedback("tiny", "hidden_wrong"))
    (page,) = (course / "feedback" / "hidden_wrong").rglob("*.html")
    assert "around a secret" in page.read_text()
    assert "Which number is 0" in page.read_text()
    (graded,) = (course / "autograded" / "hidden_wrong").rglob("*.ipynb")
    for text in (page.read_text(), graded.read_text()):
        assert not [value for value in ("4096.06", "0.7310", "hidden_cases") if value in text]


def test_hidden_cases_are_not_released(course, hidden):
    assert_success(api(course).generate_assignment("tiny", force=True))
    files = [path for path in (course / "release").rglob("*") if path.is_file()]
    assert [path.name for path in files if path.suffix == ".ipynb"]
    assert not [path for path in files if b"secret" in path.read_bytes() or "hidden" in str(path.relative_to(course))]


def test_an_answer_cannot_read_them(course, hidden):
    hand_in(course, "hidden_reader", f"open({str(hidden)!r}).read()")
    assert_success(api(course).autograde("tiny", "hidden_reader"))
    assert scores(course, "hidden_reader") == FULL | {TORCH: 0}
    assert "FileNotFoundError" in shown(course, "hidden_reader", CHECK) or "PermissionError" in shown(
        course, "hidden_reader", CHECK
    )


def test_a_file_with_a_mistake_stops_the_run_before_it_touches_anything(course, hidden):
    grade(course, "hidden_before", right_answers(course))
    misspelt = hidden.rename(hidden.with_name("silu_foward.py"))
    place(course, "hidden_before").write_text(json.dumps(right_answers(course) | {"cells": []}))
    result = api(course).autograde("tiny", "hidden_before")
    assert not result["success"]
    assert "Nothing was graded: " in result["log"]
    assert "did you mean silu_forward" in result["log"]
    assert scores(course, "hidden_before") == FULL
    misspelt.rename(hidden)
    assert_success(api(course).autograde("tiny", "hidden_before"))
    assert scores(course, "hidden_before") == UNREAD


def test_a_folder_that_a_teacher_names_and_that_is_missing_stops_the_run(course):
    hand_in(course, "hidden_missing")
    result = with_settings(course, hidden_cases="hiden").autograde("tiny", "hidden_missing")
    assert not result["success"]
    assert "hiden, which c.Grade.hidden_cases names, is not a folder" in result["log"]
    assert not (course / "autograded" / "hidden_missing").exists()


@pytest.mark.parametrize("setting", [{}, {"hidden_cases": "mine.toml"}])
def test_cases_as_they_were_written_before_are_refused_with_the_way(course, setting):
    hand_in(course, "hidden_toml")
    former = course / setting.get("hidden_cases", "hidden_cases.toml")
    former.write_text("[[silu_forward]]")
    result = with_settings(course, **setting).autograde("tiny", "hidden_toml")
    former.unlink()
    assert not result["success"]
    assert "write them as Case in Python, hidden_cases/EXERCISE.py (course/OWN.md, Your own cases)" in result["log"]
    assert not (course / "autograded" / "hidden_toml").exists()


# The guide


def test_the_guide_names_every_setting_with_its_default():
    guide = (Path(__file__).parents[2] / "course" / "RUNNING.md").read_text(encoding="utf-8")
    documented = {(owner, name): ast.literal_eval(value) for owner, name, value in SETTING.findall(guide)}
    owners = (grading.Grade, Autograde, PerDay, Hints)
    documented = {
        setting: value for setting, value in documented.items() if setting[0] in {owner.__name__ for owner in owners}
    }
    real = {
        (owner.__name__, name): trait.default()
        for owner in owners
        for name, trait in owner.class_own_traits(config=True).items()
    }
    assert documented == real


# Isolation


def test_a_class_is_not_graded_where_answers_cannot_be_isolated(course, own_worker, monkeypatch):
    def lacking(level):
        raise SandboxError("answers would be isolated as weak, and good is asked for")

    hand_in(course, "weak")
    with monkeypatch.context() as patch:
        patch.setattr(answers, "require", lacking)
        result = api(course).autograde("tiny", "weak")
        assert not result["success"]
        assert "Nothing was graded: answers would be isolated as weak" in result["log"]
        assert not (course / "autograded" / "weak").exists()
        assert_success(with_settings(course, allow_weak_sandbox=True).autograde("tiny", "weak"))
    assert scores(course, "weak") == FULL


def test_the_weak_rung_needs_the_teachers_word(course, own_worker):
    hand_in(course, "asked_weak")
    result = with_settings(course, isolation="weak").autograde("tiny", "asked_weak")
    assert not result["success"]
    assert "c.Grade.allow_weak_sandbox is not set" in result["log"]
    assert_success(with_settings(course, isolation="weak", allow_weak_sandbox=True).autograde("tiny", "asked_weak"))
    assert scores(course, "asked_weak") == FULL
    assert making._shared.level == "weak"


# Progress


@pytest.mark.exhaustive
def test_a_batch_says_how_far_it_is_and_how_long_the_rest_will_take(course):
    for number in range(3):
        hand_in(course, f"progress_{number}")
    log = grade_demo.nbgrader(course, "autograde", "tiny", "--student=progress_*")
    assert "[1/3, about " in log
    assert " left] progress_0, tiny: 4 of 4 points" in log
    assert "[3/3] progress_2, tiny: 4 of 4 points" in log


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "0 s"), (89.4, "89 s"), (90, "2 min"), (3000, "50 min")])
def test_duration(seconds, words):
    assert Pace.duration(seconds) == words


# The seed


def test_a_class_has_a_seed_of_its_own_and_the_feedback_names_it(course):
    hand_in(course, "seeded")
    assert_success(api(course).autograde("tiny", "seeded"))
    assert_success(api(course).generate_feedback("tiny", "seeded"))
    seed = class_seed(course, "tiny")
    assert f"seed {seed}" in shown(course, "seeded", CHECK)
    assert f"seed {seed}" in (course / "feedback" / "seeded" / "tiny" / "tiny.html").read_text()
    assert class_seed(course, "both") != seed
    assert (course / FILE).stat().st_mode & 0o777 == 0o600
    secret = (course / FILE).read_text().strip()
    given_out = [path for path in (course / "release").rglob("*") if path.is_file()]
    assert given_out
    assert not any(path.name == FILE or secret in path.read_text() for path in given_out)


def test_a_teacher_may_choose_the_seed(course):
    hand_in(course, "chosen")
    assert_success(with_settings(course, seed=17).autograde("tiny", "chosen"))
    assert "seed 17" in shown(course, "chosen", CHECK)


def test_without_its_secret_a_class_is_not_graded(course):
    hand_in(course, "no_secret")
    class_seed(course, "tiny")  # makes the file
    kept = (course / FILE).read_text()
    try:
        (course / FILE).write_text("something else")
        result = api(course).autograde("tiny", "no_secret")
    finally:
        (course / FILE).write_text(kept)
    assert not result["success"]
    assert "Nothing was graded" in result["log"]
    assert "Put the file back" in result["log"]
    assert not (course / "autograded" / "no_secret").exists()
