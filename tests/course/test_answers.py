"""The ladder below an exercise: a hint that names the step; after a try the course's answer beside the learner's."""

import itertools
import json
from xml.etree import ElementTree

import nbformat
import pytest
import torch
from graded_kernels.autograder.judge import EXERCISES, Exercise
from graded_kernels.course import answers, build, chapter, learner
from graded_kernels.course.desk.merge import merge

CHAPTERS = build.ROOT / "course/chapters"
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
    assert not found.yours.passed
    assert found.ours.passed
    assert "def silu_forward" in found.source
    assert found.source in repr(found)
    assert len(repr(found)) < len(found.source) + 1000
    assert "### BEGIN" not in found.source
    errors = [(a, b) for _, a, b in found.errors()]
    assert errors
    assert all(a > 2 * b for a, b in errors)
    assert len(errors) <= answers.SHOWN
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
    assert rows["bytes moved"] == ("", "1.50 times the bytes")
    assert rows["registers"] == ("", "47 (sm_80)")


def test_an_update_keeps_the_switch(folder):
    mine = nbformat.read(folder / SILU.name, as_version=4)
    fresh = nbformat.reads(learner.release(SILU), as_version=4)
    assert merge(mine, fresh).notebook.metadata["graded_kernels"][learner.ANSWERS] is True


def test_every_check_is_followed_by_the_ladder_and_no_answer():
    for path in learner.sources(build.ROOT):
        cells = nbformat.reads(learner.release(path), as_version=4).cells
        for check, below in itertools.pairwise(cells):
            id = check.metadata.get("nbgrader", {}).get("grade_id", "")
            if id.endswith("-check"):
                exercise = id.removesuffix("-check").rpartition("-")[0]
                assert below.cell_type == "markdown"
                assert f'answers.beside("{exercise}", {exercise}' in below.source


def steps() -> dict[tuple[str, str], str]:
    """The second hint of each answer, as the chapters give it."""
    pieces = [piece for path in sorted(CHAPTERS.glob("*.md")) for piece in chapter.parse(path, path.read_text())]
    return {piece.key: piece.step for piece in pieces if isinstance(piece, chapter.Exercise)}


def test_the_second_hint_is_on_the_ladder():
    built = {path.stem: path.read_text(encoding="utf-8") for path in learner.sources(build.ROOT)}
    text = "\n".join(cell["source"] for page in built.values() for cell in nbformat.reads(page, as_version=4).cells)
    for (folder, name), step in steps().items():
        assert text.count(f"1. {step}\n") == 1, (folder, name)
        shown = f"1. {EXERCISES[name].hint}\n" in text
        assert shown is isinstance(EXERCISES[name], Exercise), name
