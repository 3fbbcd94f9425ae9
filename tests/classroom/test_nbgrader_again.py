"""Grading through nbgrader: grading again, what fails on the way, and what lies beside a notebook."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import grade_demo
import nbformat
import pytest
from classroom import (
    api,
    assert_success,
    autograded,
    copied,
    give_by_hand,
    grade,
    place,
    right_answers,
    scores,
    shown,
)
from graded_kernels.autograder.classroom.nbgrader import grade_cells
from graded_kernels.autograder.classroom.nbgrader.export import rows_of
from graded_kernels.autograder.classroom.nbgrader.grade_cells import SaveScores
from graded_kernels.autograder.classroom.nbgrader.pages import NotGradable
from graded_kernels.autograder.classroom.nbgrader.submission import Notebook
from graded_kernels.autograder.judge import Store, make_verdict
from graded_kernels.course import cells
from nbgrader.api import Gradebook
from tampered import FULL, NOTHING, TORCH, UNREAD, WITNESS, WORDS, deleted_answer, find, helper_cells


@pytest.fixture(scope="module")
def course(made_course, tmp_path_factory) -> Path:
    return copied(made_course, tmp_path_factory.mktemp("again"))


def test_second_submission_is_graded_anew(course):
    notebook = right_answers(course)
    grade(course, "twice", notebook)
    deleted_answer(notebook)
    grade(course, "twice", notebook)
    assert scores(course, "twice") == FULL | {TORCH: 0}


def test_a_submission_whose_run_ended_before_its_notebook_is_graded(course):
    """nbgrader copies other files first, and takes a folder that is there for one that was graded."""
    place(course, "begun").write_text(json.dumps(right_answers(course)))
    (course / "autograded" / "begun" / "tiny").mkdir(parents=True)
    (course / "autograded" / "begun" / "tiny" / "timestamp.txt").write_text("2026-01-01 10:00:00 UTC")
    assert_success(api(course).autograde("tiny", "begun", force=False))
    assert scores(course, "begun") == FULL


def test_no_old_score_outlives_a_run_that_fails(course, monkeypatch):
    """Nor one that fails before the notebook is read; what a person gave stays."""
    for student in ("stale", "staler"):
        grade(course, student, right_answers(course))
        assert scores(course, student) == FULL
        give_by_hand(course, student, **{WORDS: 2.5})
        with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
            gradebook.find_comment(WORDS, "tiny", "tiny", student).manual_comment = "Well said."
            gradebook.db.commit()
    shutil.rmtree(course / "autograded" / "stale")
    (course / "autograded" / "stale").touch()  # nothing can be written there
    assert not api(course).autograde("tiny", "stale")["success"]

    def crash(*args):
        raise RuntimeError("planted")

    monkeypatch.setattr("graded_kernels.autograder.classroom.nbgrader.reader.Reader.rebuilt", crash)
    assert not api(course).autograde("tiny", "staler")["success"]
    for student in ("stale", "staler"):
        assert scores(course, student) == dict.fromkeys(FULL)
        with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
            assert gradebook.find_grade(WORDS, "tiny", "tiny", student).score == 2.5
            assert gradebook.find_grade(f"{TORCH}-check", "tiny", "tiny", student).needs_manual_grade
            assert gradebook.find_comment(WORDS, "tiny", "tiny", student).comment == "Well said."


class Marked:
    """A submission with points by hand: for its words, and in place of its automatic ones of one answer."""

    def __init__(self, course: Path, student: str):
        self.course, self.student, self.notebook = course, student, right_answers(course)
        find(self.notebook, TORCH)["source"] += (
            "\n\nright = silu_forward\n\n\ndef silu_forward(x):\n    return right(x).float()\n"
        )
        grade(course, student, self.notebook)
        give_by_hand(course, student, **{WORDS: 3, f"{TORCH}-check": 1})

    def graded_again(self, force: bool = False, **points: float) -> list[str]:
        """What the summary lists of it. points: the teacher's own."""
        place(self.course, self.student).write_text(json.dumps(self.notebook))
        made = api(self.course)
        made.config.Grade.points = {f"tiny/{name}": number for name, number in points.items()}
        result = made.autograde("tiny", self.student, force=force)
        assert_success(result)
        lines = result["log"].partition("Changed after you gave points by hand")[2].splitlines()[1:2]
        return [line.strip() for line in lines]

    def waiting(self) -> set[str]:
        """The cells that formgrader lists."""
        with Gradebook(f"sqlite:///{self.course}/gradebook.db") as gradebook:
            grades = gradebook.find_submission_notebook("tiny", "tiny", self.student).grades
            return {grade.name for grade in grades if grade.needs_manual_grade}


def test_points_by_hand_stay_with_what_they_were_given_for(course):
    kim = Marked(course, "kim")
    assert kim.graded_again(force=True) == []
    assert kim.waiting() == set()

    find(kim.notebook, WORDS)["source"] = "nonsense"
    find(kim.notebook, TORCH)["source"] = find(right_answers(course), TORCH)["source"]
    line = f"kim, tiny: {TORCH} (its text changed, automatic 2, yours 1), {WORDS} (its text changed, yours 3)"
    for force in (False, True):  # unchanged since, and nobody looked
        assert kim.graded_again(force) == [line.replace("its text changed, ", "") if force else line]
        assert kim.waiting() == {WORDS, f"{TORCH}-check"}
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        rows = {
            row["student_id"]: row for row in rows_of(gradebook, api(course).coursedir) if row["assignment"] == "tiny"
        }
    names = ("status", "waiting", "raw_score", "score")
    assert [rows["kim"].get(name) for name in names] == ["waits for a person", 5, 2, None]
    assert_success(api(course).generate_feedback("tiny", "kim"))
    page = (course / "feedback" / "kim" / "tiny" / "tiny.html").read_text()
    assert "Score so far: 2.0 / 7.0" in page

    give_by_hand(course, "kim", **{WORDS: 0, f"{TORCH}-check": 2})
    assert kim.graded_again(force=True) == []
    assert kim.waiting() == set()


def test_a_changed_score_is_looked_at_where_a_person_gave_another(course):
    assert Marked(course, "lee").graded_again(**{TORCH: 4}) == [f"lee, tiny: {TORCH} (automatic 3.72, yours 1)"]


def test_what_a_killed_run_left_nobody_has_seen(course):
    left = Marked(course, "max")
    path = course / "autograded" / "max" / "tiny" / "tiny.ipynb"
    half = json.loads(path.read_text())
    half["metadata"]["graded_kernels"]["begun"] = True
    path.write_text(json.dumps(half))
    words = f"{WORDS} (its text may have changed, yours 3)"
    assert left.graded_again() == [f"max, tiny: {TORCH} (its text may have changed, automatic 1.86, yours 1), {words}"]


def test_new_points_are_given_to_what_was_graded_before(made_course, tmp_path):
    course = copied(made_course, tmp_path)
    grade(course, "early", right_answers(course))
    source = course / "source" / "tiny" / "tiny.ipynb"
    notebook = json.loads(source.read_text())
    find(notebook, f"{TORCH}-check")["metadata"]["nbgrader"]["points"] = 6
    source.write_text(json.dumps(notebook))
    assert_success(api(course).generate_assignment("tiny", force=True))
    log = api(course).autograde("tiny", "early", force=False)["log"]
    assert f"graded again: 1, since these changed: the points of {TORCH}-check" in log
    assert scores(course, "early") == FULL | {TORCH: 6}


def test_points_for_lateness_are_taken_anew_from_what_is_not_graded_again(made_course, tmp_path):
    course = copied(made_course, tmp_path)
    made = api(course)
    made.config.AssignLatePenalties.plugin_class = "graded_kernels.autograder.classroom.nbgrader.points.PerDay"
    made.config.PerDay.share = 0.1

    def lines() -> list[str]:
        result = made.autograde("tiny", "late", force=False)
        assert_success(result)
        return [line.strip() for line in result["log"].splitlines() if "taken off" in line]

    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        gradebook.update_or_create_assignment("tiny", duedate="2026-01-01 10:00:00 UTC")
    place(course, "late").write_text(json.dumps(right_answers(course)))
    place(course, "late").with_name("timestamp.txt").write_text("2026-01-02 09:00:00 UTC")
    assert lines() == ["late, tiny: 23.0 hours late, 0.4 points taken off"]
    assert lines() == []
    give_by_hand(course, "late", **{WORDS: 1})
    assert lines() == ["late, tiny: 0.5 points taken off, before 0.4"]
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        gradebook.update_or_create_assignment("tiny", duedate="2026-01-03 10:00:00 UTC")
    assert lines() == ["late, tiny: 0 points taken off, before 0.5"]


def test_a_check_that_crashes_is_left_to_a_person(course, monkeypatch):
    def crash_in_one(job, *given):
        if job.answer.exercise == "silu_witness":
            raise ZeroDivisionError("planted")
        return make_verdict(job, *given)

    Store(course).clear()
    monkeypatch.setattr(grade_cells, "make_verdict", crash_in_one)
    grade(course, "unlucky", right_answers(course))
    assert scores(course, "unlucky") == FULL | {WITNESS: None}
    assert "could not be graded: the check stopped with ZeroDivisionError" in shown(
        course, "unlucky", f"{WITNESS}-check"
    )
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        assert gradebook.find_grade(f"{WITNESS}-check", "tiny", "tiny", "unlucky").needs_manual_grade


def test_the_scores_of_a_notebook_are_committed_together(course, monkeypatch):
    """nbgrader's own commits after every cell, and waits for the disk each time."""
    saved = SaveScores._add_score

    def stops(self, cell, resources):
        saved(self, cell, resources)
        if cell.metadata.nbgrader["grade_id"] == f"{TORCH}-check":
            raise KeyError("after the second score")

    monkeypatch.setattr(SaveScores, "_add_score", stops)
    place(course, "halfway").write_text(json.dumps(right_answers(course)))
    assert not api(course).autograde("tiny", "halfway")["success"]
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        grades = gradebook.find_submission_notebook("tiny", "tiny", "halfway").grades
        assert len(grades) > 2
        assert {grade.auto_score for grade in grades} == {None}


def test_a_check_of_no_answer_gets_no_score():
    """A test cell that a teacher added is never executed, and nbgrader would count a cell without output as right."""
    cell = cells.check("silu_forward", "torch", points=2)
    with pytest.raises(NotGradable, match="silu_forward-torch-check"):
        Notebook("a, tiny", nbformat.v4.new_notebook(cells=[cell])).check("silu_forward-torch-check")


def test_a_renamed_notebook_keeps_nobody_else_from_a_grade(course):
    for student in ("first_renamed", "first_well"):
        grade(course, student, right_answers(course))
    notebook = place(course, "first_renamed")
    notebook.rename(notebook.with_name("tiny (1).ipynb"))
    place(course, "first_well").write_text((course / "release" / "tiny" / "tiny.ipynb").read_text())
    result = api(course).autograde("tiny", "first_*")
    assert "handed in as `tiny (1).ipynb`, not as `tiny.ipynb`" in result["log"]
    assert scores(course, "first_renamed") == UNREAD
    assert scores(course, "first_well") == NOTHING


def nest(folder: Path, levels: int, name: str) -> None:
    """``name/name/...`` in a folder. `os.makedirs` would recurse once a level."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=at)
        at, last = os.open(name, os.O_RDONLY, dir_fd=at), at
        os.close(last)
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


@pytest.mark.parametrize(
    ("levels", "name"),
    [(1300, "d"), pytest.param(60, "n" * 250, marks=pytest.mark.exhaustive)],
    ids=["many", "longer-than-a-path"],
)
def test_nested_folders_beside_a_notebook_are_left_out(course, levels, name):
    notebook = place(course, f"nested_{levels}")
    notebook.write_text(json.dumps(right_answers(course)))
    (notebook.parent / "data").mkdir()
    (notebook.parent / "data" / "numbers.csv").write_text("1,2,3")
    nest(notebook.parent, levels, name)
    try:
        result = api(course).autograde("tiny", f"nested_{levels}")
    finally:  # pytest's own removal recurses, too
        subprocess.run(["rm", "-rf", str(notebook.parent / name)], check=True)
    assert_success(result)
    assert scores(course, f"nested_{levels}") == FULL
    log = autograded(course, f"nested_{levels}").cells[0].source
    assert f"`{name[:60]}` lies beside the notebook and holds folders that are more than 10 deep." in log
    graded = course / "autograded" / f"nested_{levels}" / "tiny"
    assert (graded / "data" / "numbers.csv").exists()
    assert not (graded / name).exists()


def test_without_the_released_notebook_nothing_is_lost(course):
    grade(course, "early", right_answers(course))
    released = course / "release" / "tiny" / "tiny.ipynb"
    away = released.rename(released.with_suffix(".away"))
    try:
        result = api(course).autograde("tiny", "early")
    finally:
        away.rename(released)
    assert not result["success"]
    assert "nbgrader generate_assignment tiny --force" in result["log"]
    assert scores(course, "early") == FULL


@pytest.mark.exhaustive
def test_command_line(course):
    """The commands that a teacher types, in the course root."""
    notebook = right_answers(course)
    helper_cells(notebook)
    place(course, "typed").write_text(json.dumps(notebook))
    log = grade_demo.nbgrader(course, "autograde", "tiny", "--student=typed")
    assert "[1/1] typed, tiny: 4 of 4 points in " in log
