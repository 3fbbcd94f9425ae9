"""Grading a class from verdicts: what was checked once is not checked again."""

import json
from functools import partial

import nbformat
import pytest
from classroom import api, assert_success, autograded, copied, grade, hidden_case, place, right_answers, scores, shown
from graded_kernels.autograder.classroom.nbgrader import grade_cells
from graded_kernels.autograder.classroom.nbgrader.grade_cells import Grade
from graded_kernels.autograder.classroom.nbgrader.regrade import FIELDS, NAMES, changes, standard
from graded_kernels.autograder.classroom.nbgrader.submission import Released
from graded_kernels.autograder.judge import Store, Verdict, make_verdict
from tampered import FULL, NOTHING, TORCH, WITNESS, find


@pytest.fixture
def course(made_course, tmp_path):
    return copied(made_course, tmp_path)


@pytest.fixture
def checked(monkeypatch) -> list[str]:
    """The names of the answers that were checked."""
    found: list[str] = []

    def counted(job, *given):
        found.append(job.name)
        return make_verdict(job, *given)

    monkeypatch.setattr(grade_cells, "make_verdict", counted)
    return found


def hand_in(course, *students: str, notebook: dict | None = None) -> None:
    released = json.loads((course / "release" / "tiny" / "tiny.ipynb").read_text())
    for student in students:
        place(course, student).write_text(json.dumps(notebook or released))


def autograde(course, students: str = "*", force: bool = False) -> str:
    result = api(course).autograde("tiny", students, force=force)
    assert_success(result)
    return result["log"]


def test_a_class_that_did_nothing_is_checked_once(course, checked):
    hand_in(course, "a", "b", "c")
    log = autograde(course)
    assert sorted(checked) == [TORCH, WITNESS]
    assert "2 of 2 verdicts were there" in log
    assert [scores(course, student) for student in "abc"] == [NOTHING] * 3
    notebooks = [autograded(course, student) for student in "abc"]
    assert notebooks[0] == notebooks[1] == notebooks[2]
    assert "not implemented yet" in shown(course, "c", f"{TORCH}-check")


def test_after_a_new_case_only_its_exercise_is_checked_again(course, checked):
    hand_in(course, "a", "b", notebook=right_answers(course))
    autograde(course)
    before, checked[:] = autograded(course, "a"), []
    autograde(course, force=True)
    assert checked == []
    assert autograded(course, "a") == before
    hidden_case(course, "silu_forward", "a secret", [0.0, 4096.0625])
    autograde(course, force=True)
    assert checked == [TORCH]
    assert "hidden: a secret" in json.dumps(autograded(course, "b"))
    assert [scores(course, student) for student in "ab"] == [FULL] * 2


@pytest.mark.exhaustive
def test_a_new_case_grades_again_what_did_not_change(course, checked):
    """Without --force, in one line, and only where the assignment has that exercise."""
    hand_in(course, "a", "b", notebook=right_answers(course))
    autograde(course)
    checked.clear()
    hidden_case(course, "silu_forward", "a secret", [0.0, 4096.0625])
    log = autograde(course)
    assert checked == [TORCH]
    assert scores(course, "b") == FULL
    assert "graded again: 2, since these changed: your cases for silu_forward\n" in f"{log}\n"
    hidden_case(course, "gelu_forward", "a secret", [0.0, 4096.0625])
    log = autograde(course)
    assert checked == [TORCH]
    assert "graded again" not in log
    assert "2 skipped, unchanged" in log


@pytest.mark.exhaustive
def test_a_notebook_whose_grader_kept_no_standard_is_graded_again(course):
    grade(course, "a", right_answers(course))
    path = course / "autograded" / "a" / "tiny" / "tiny.ipynb"
    notebook = json.loads(path.read_text())
    del notebook["metadata"]["graded_kernels"]["standard"]
    path.chmod(0o600)
    path.write_text(json.dumps(notebook))
    assert "since these changed: the version of the grader" in autograde(course)


def test_every_part_of_a_job_has_a_name_in_a_sentence(course):
    grader = Grade(parent=None)
    grader.seed = 1
    released = nbformat.read(course / "release" / "both" / "both.ipynb", as_version=4)
    courses = api(course).coursedir
    courses.assignment_id = "both"
    job_of = partial(grader.job, Released(courses, {}))
    found = standard(grader.costs, job_of, released)
    assert {"your cases for silu_forward", "the limits", "the version of PyTorch"} <= set(found)
    grader.seconds, grader.seed = 3.0, 2
    changed = changes(found, standard(grader.costs, job_of, released))
    assert changed == ["the limits", "the seed of the class"]
    without_points = {name: digest for name, digest in found.items() if "points" not in name}
    assert without_points != found
    assert changes(without_points, found) == []
    assert set(FIELDS) == set(NAMES)


@pytest.mark.exhaustive
def test_a_run_that_crashed_loses_no_verdict(course, checked, monkeypatch):
    hand_in(course, "a", notebook=right_answers(course))
    with monkeypatch.context() as patch:
        patch.setattr(Grade, "_list_published", lambda *args: 1 / 0)
        assert not api(course).autograde("tiny", "a")["success"]
    assert sorted(checked) == [TORCH, WITNESS]
    assert set(scores(course, "a").values()) == {None}
    autograde(course)
    assert len(checked) == 2
    assert scores(course, "a") == FULL


@pytest.mark.exhaustive
def test_a_damaged_verdict_is_made_again_and_the_run_says_so(course, checked):
    hand_in(course, "a", notebook=right_answers(course))
    autograde(course)
    (path,) = (path for path in Store(course) if path.parent.name == TORCH)
    path.write_bytes(path.read_bytes().replace(b'"score": 1.0', b'"score": 0.0'))
    log = autograde(course, force=True)
    assert checked[2:] == [TORCH]
    assert f"The verdict {path} is damaged" in log
    assert scores(course, "a") == FULL


@pytest.mark.exhaustive
def test_what_a_time_limit_decided_is_checked_twice_and_says_so(course, checked):
    notebook = right_answers(course)
    cell = find(notebook, TORCH)
    cell["source"] = cell["source"].replace("    v = ", "    while True: pass\n    v = ", 1)
    hand_in(course, "a", notebook=notebook)
    made = api(course)
    made.config.Grade.update(seconds=0.5, wall_factor=1000.0)
    assert_success(made.autograde("tiny", "a"))
    assert checked.count(TORCH) == 2
    assert scores(course, "a")[TORCH] == 0
    text = " ".join(shown(course, "a", f"{TORCH}-check").split())
    assert "A time limit ended this check. It was made a second time" in text
    assert "more than 0.5 s" in text
    assert [(e["checks"], e["doubt"]) for e in Store(course).made() if e["name"] == TORCH] == [
        (1, "time limit"),
        (2, "time limit"),
    ]
    assert_success(made.autograde("tiny", "a"))
    assert checked.count(TORCH) == 2


@pytest.mark.exhaustive
def test_one_left_to_a_person_has_no_score(course):
    hand_in(course, "a", notebook=right_answers(course))
    autograde(course)
    store = Store(course)
    (path,) = (path for path in store if path.parent.name == TORCH)
    left = json.loads(path.read_bytes()[65:]) | {"left": "its check ended three workers"}
    store.put(Verdict(**left))
    log = autograde(course, force=True)
    assert f"  a, tiny: {TORCH}-check could not be graded: its check ended three workers\n" in log
    assert "1 check could not be graded" in log
    assert "Traceback" not in log
    assert scores(course, "a") == FULL | {TORCH: None}
    assert "could not be graded: its check ended three workers" in shown(course, "a", f"{TORCH}-check")


@pytest.mark.exhaustive
def test_the_graded_notebook_names_its_verdicts(course):
    grade(course, "a", right_answers(course))
    records = [cell.metadata.get("graded_kernels", {}) for cell in autograded(course, "a").cells]
    assert {record["verdict"] for record in records if "verdict" in record} == {path.stem for path in Store(course)}
