"""The ladder below an exercise: a hint that names the step; after a try the course's answer beside the learner's."""

import json
from xml.etree import ElementTree

import nbformat
import pytest
import torch
from graded_kernels.autograder.exercises import EXERCISES
from graded_kernels.course import answers, build, learner
from graded_kernels.course.desk.merge import merge

SILU = build.ROOT / "course/source/01_silu/01_silu.ipynb"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    learner.give([SILU], tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stub(x):
    """As it is released."""
    ...  # YOUR CODE HERE


def rough(x):
    return (x.float() * torch.sigmoid(x.float()) * (1 + 2**-9)).to(x.dtype)


def test_after_a_try_the_answer_is_shown_with_what_differs(folder):
    found = answers.beside("silu_forward", rough, backend="torch")
    assert not found.yours.passed and found.ours.passed and "def silu_forward" in found.source
    assert found.source in str(found) and "### BEGIN" not in found.source
    errors = [(a, b) for _, a, b in found.errors()]
    assert errors and all(a > 2 * b for a, b in errors) and len(errors) <= answers.SHOWN
    ElementTree.fromstring(f"<div>{found._repr_html_()}</div>")


def test_before_a_try_it_is_not(folder, capsys):
    assert answers.beside("silu_forward", stub, backend="torch") is None
    assert "after a try" in capsys.readouterr().out


@pytest.mark.parametrize("how", ["assignment", "switched off", "elsewhere", "forged"])
def test_in_an_assignment_or_where_a_teacher_wants_none_it_is_off(tmp_path, monkeypatch, capsys, how):
    copy = tmp_path / SILU.name
    if how == "assignment":  # what nbgrader releases: test_notebooks holds that it is the same text
        copy.write_text(learner.release(SILU))
    elif how != "elsewhere":
        learner.give([SILU], tmp_path, answers=False)
        if how == "forged":  # anything but true
            notebook = json.loads(copy.read_text())
            notebook["metadata"]["graded_kernels"][learner.ANSWERS] = "yes"
            copy.write_text(json.dumps(notebook))
    monkeypatch.chdir(tmp_path)
    assert answers.beside("silu_forward", rough, backend="torch") is None
    assert "off here" in capsys.readouterr().out


def test_a_name_without_an_answer_is_an_error(folder):
    with pytest.raises(ValueError, match="no answer to 'silu_forwards'"):
        answers.beside("silu_forwards", rough, backend="torch")


def test_of_a_kernel_the_registers_and_the_bytes_are_compared():
    """Without a compiler: from what a report says."""
    report = answers.check("silu_forward", rough, backend="torch")
    targets = [{"target": "sm_80", "registers": 47}, {"target": "gfx942", "registers": None}]
    kernel = report.__class__(**{**vars(report), "traffic": {"ratio": 1.5}, "compile": {"targets": targets}})
    rows = {label: (yours, ours) for label, yours, ours in answers.Beside(report, kernel, "").rows()}
    assert rows["bytes moved"] == ("", "1.50 times the least") and rows["registers"] == ("", "47 (sm_80)")


def test_an_update_keeps_the_switch(folder):
    mine = nbformat.read(folder / SILU.name, as_version=4)
    fresh = nbformat.reads(learner.release(SILU), as_version=4)
    assert merge(mine, fresh).notebook.metadata["graded_kernels"][learner.ANSWERS] is True


def test_every_check_is_followed_by_the_ladder_and_no_answer():
    for path in learner.sources(build.ROOT):
        cells = nbformat.reads(learner.release(path), as_version=4).cells
        for check, below in zip(cells, cells[1:], strict=False):
            id = check.metadata.get("nbgrader", {}).get("grade_id", "")
            if id.endswith("-check"):
                exercise = id.removesuffix("-check").rpartition("-")[0]
                assert below.cell_type == "markdown" and EXERCISES[exercise].hint in below.source
                assert f'answers.beside("{exercise}", {exercise}' in below.source
