"""The book: notebooks are fresh, run from top to bottom with and without answers, and give no answer away."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import classroom
import nbformat
import pytest
from graded_kernels.autograder.judge import EXERCISES
from graded_kernels.course import build, learner
from nbgrader.nbgraderformat import MetadataValidator, ValidationError
from notebook_kernel import execute, read

COURSE = build.ROOT / "course"
CHAPTERS = sorted((COURSE / "chapters").glob("*.md"))
each_chapter = pytest.mark.parametrize("name", [path.stem for path in CHAPTERS])
QUICK = {"00_floats_and_tiles"}  # in `make test`; every exercise of the others is checked there by test_exercises
each_chapter_runs = pytest.mark.parametrize("name", classroom.about([path.stem for path in CHAPTERS], QUICK))


def source(name: str) -> Path:
    return COURSE / "source" / name / f"{name}.ipynb"


def kind(cell) -> str:
    """answer | check | question | setup | demo | prose"""
    marks = cell.metadata.get("nbgrader")
    if marks is None:
        return "demo" if cell.cell_type == "code" else "prose"
    return {(0, 1): "answer", (1, 0): "check", (1, 1): "question", (0, 0): "setup"}[marks.grade, marks.solution]


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> Callable[[str], Path]:
    """The notebook of a chapter as nbgrader itself releases it."""
    root = tmp_path_factory.mktemp("course")
    shutil.copy(COURSE / "nbgrader_config.py", root)
    shutil.copytree(COURSE / "source", root / "source")

    def release(name: str) -> Path:
        notebook = root / "release" / name / f"{name}.ipynb"
        if not notebook.exists():
            classroom.release(root, [name])
        return notebook

    return release


# What is committed is what the chapters say.


def test_there_are_chapters():
    assert CHAPTERS


def test_notebooks_are_fresh(capsys):
    assert build.main(["--check"]) == 0, "".join(capsys.readouterr())


@pytest.mark.exhaustive
def test_a_rebuild_gives_the_same_bytes():
    assert build.build_all() == build.build_all()


@each_chapter
def test_metadata_is_what_nbgrader_wants(name):
    notebook = read(source(name))
    MetadataValidator().validate_nb(notebook)
    nbformat.validate(notebook)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert kind(first) == "setup"
    assert first.id == "setup"
    assert first.metadata.nbgrader.locked
    for answer, check in zip(notebook.cells, notebook.cells[1:], strict=False):
        if kind(answer) == "answer":
            exercise, backend = answer.id.rsplit("-", 1)
            assert check.id == answer.metadata.nbgrader.grade_id + "-check"
            assert check.metadata.nbgrader.locked
            assert check.source == f'check("{exercise}", {exercise}, backend="{backend}")'
            assert check.metadata.nbgrader.points in (0, EXERCISES[exercise].points)


def test_the_validator_can_fail():
    notebook = read(source(CHAPTERS[0].stem))
    del next(cell for cell in notebook.cells if kind(cell) == "check").metadata.nbgrader["locked"]
    with pytest.raises(ValidationError):
        MetadataValidator().validate_nb(notebook)


# The notebooks run.


@each_chapter_runs
def test_source_runs_and_every_check_passes(name, tmp_path):
    reports, noise = execute(source(name), tmp_path)
    checks = [cell.id for cell in read(source(name)).cells if kind(cell) == "check"]
    assert [f"{report['exercise']}-{report['backend']}-check" for report in reports] == checks
    assert not [(report["exercise"], report["summary"]) for report in reports if not report["passed"]]
    assert all(report["score"] == 1.0 for report in reports)
    assert not noise, "a learner who did everything right sees warnings"


@pytest.mark.exhaustive
@each_chapter_runs
def test_release_runs_and_says_not_implemented(name, released, tmp_path):
    reports, noise = execute(released(name), tmp_path)
    checks = [cell for cell in read(source(name)).cells if kind(cell) == "check"]
    assert len(reports) == len(checks)
    assert all("not implemented yet" in report["summary"] and report["score"] == 0 for report in reports)
    assert not noise


@each_chapter
def test_release_gives_no_answer_away(name):
    text = (COURSE / "chapters" / f"{name}.md").read_text(encoding="utf-8")
    notebook = nbformat.reads(learner.release(source(name)), as_version=4)
    everything = "\n".join(cell.source for cell in notebook.cells)
    hidden = [line for cell in read(source(name)).cells for line in secrets(cell.source)]
    assert not any(kind(cell) == "answer" for cell in notebook.cells) or len(hidden) > 20
    visible = re.sub(r"^```\{question\}.*?^```$", "", text, flags=re.M | re.S)
    assert not [line for line in hidden if line not in visible and line in everything]
    for cell in notebook.cells:
        if kind(cell) == "answer":
            assert "...  # YOUR CODE HERE" in cell.source
            assert "SOLUTION" not in cell.source
            compile(cell.source, cell.id, "exec")
        if kind(cell) == "question":
            assert cell.source == "YOUR ANSWER HERE"


OF_EVERY_KERNEL = {"@triton.jit", "):  # fmt: skip"}
OF_A_SIGNATURE = re.compile(r"\w+: [\w.| ]+,|\) -> [\w.,| \[\]]+:")  # a helper's, as in the answer below it


def secrets(text: str) -> list[str]:
    """The lines between solution markers that say anything."""
    blocks = re.findall(r"BEGIN SOLUTION.*?\n(.*?)\n[^\n]*END SOLUTION", text, flags=re.S)
    lines = (line.strip() for block in blocks for line in block.split("\n"))
    telling = (line for line in lines if len(line) > 4 and line not in OF_EVERY_KERNEL)
    return [line for line in telling if not OF_A_SIGNATURE.fullmatch(line)]


# The learner's own copies.


@each_chapter_runs
def test_the_learner_gets_what_nbgrader_releases(name, released):
    of_a_class = nbformat.read(released(name), as_version=4)
    assert of_a_class.cells.pop().id == "appeals"  # their form, which a learner alone has nobody to send to
    assert learner.release(source(name)).strip() == nbformat.writes(of_a_class).strip()
