"""How far a learner is: read from the reports in their notebooks, shown in a terminal and at a chapter's end."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
import torch
from graded_kernels.autograder import check, cli
from graded_kernels.autograder.judge import ReportData
from graded_kernels.course import build, learner, progress
from graded_kernels.course.desk.chapter_progress import read_progress
from graded_kernels.course.desk.progress_table import Course, End, bar
from graded_kernels.course.desk.share_form import BLANK, HEAD
from IPython.core.interactiveshell import InteractiveShell

SOURCES = learner.sources(build.ROOT)
SILU = next(c for c in read_progress(Path("no folder"), SOURCES) if c.name == "01_silu")
REQUIRED = len(SILU.required)


def in_double(x):
    return (x.double() * torch.sigmoid(x.double())).to(x.dtype)


def in_half(x):
    return x * torch.sigmoid(x.half()).to(x.dtype)


def not_written(x):
    """The stub of a chapter."""
    ...  # YOUR CODE HERE


@pytest.fixture(scope="module")
def reports():
    """A right answer, a wrong one, and a stub."""
    answers = {"right": in_double, "wrong": in_half, "stub": not_written}
    return {name: check("silu_forward", f, backend="torch") for name, f in answers.items()}


@pytest.fixture(scope="module")
def released() -> str:
    return learner.release(build.ROOT / "course/source/01_silu/01_silu.ipynb")


@pytest.fixture
def folder(tmp_path, released):
    (tmp_path / "01_silu.ipynb").write_text(released)
    return tmp_path


def save(folder, outputs: dict[str, object]):
    """The report of each check, as a notebook that ran has it."""
    path = folder / "01_silu.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if (report := outputs.get(cell.metadata.get("nbgrader", {}).get("grade_id"))) is not None:
            data, _ = InteractiveShell.instance().display_formatter.format(report)
            cell.outputs = [nbformat.v4.new_output("execute_result", data)]
    nbformat.write(notebook, path)


def silu(folder, now=()):
    return next(chapter for chapter in read_progress(folder, SOURCES, now) if chapter.name == "01_silu")


def step(chapter, name="silu_forward", backend="torch"):
    return next(s for s in chapter.steps if (s.exercise, s.backend) == (name, backend))


def test_a_check_saves_its_report_as_data_beside_what_it_shows(reports):
    data, _ = InteractiveShell.instance().display_formatter.format(reports["wrong"])
    stored = data[ReportData.MIME]
    assert stored == reports["wrong"].to_dict() == json.loads(json.dumps(stored, allow_nan=False))
    assert "graded-kernels" in data["text/html"]
    assert "silu_forward" in data["text/plain"]


def test_before_the_first_check_nothing_is_passed(folder):
    chapters = read_progress(folder, SOURCES)
    assert [c.name for c in chapters] == [path.stem for path in SOURCES]
    assert [c.begun for c in chapters] == [c.name == "01_silu" for c in chapters]
    assert {s.state for c in chapters for s in c.steps} == {"open"}
    assert not any(c.done for c in chapters)


@pytest.mark.parametrize(("which", "state"), [("right", "passed"), ("wrong", "tried"), ("stub", "open")])
def test_a_saved_report_tells_the_state_of_its_exercise(folder, reports, which, state):
    save(folder, {"silu_forward-torch-check": reports[which]})
    chapter = silu(folder)
    assert step(chapter).state == state
    assert step(chapter, backend="triton").state == "open"
    assert chapter.passed == (state == "passed")
    if which != "stub":
        bonus = [case for case in reports[which].cases if case.bonus]
        assert chapter.distinctions == (sum(case.status == "pass" for case in bonus), len(bonus))
        assert bonus


def test_a_report_of_this_kernel_is_newer_than_the_file(folder, reports):
    save(folder, {"silu_forward-torch-check": reports["wrong"]})
    assert step(silu(folder, [reports["right"].to_dict()])).state == "passed"


def test_of_this_kernel_the_chapters_check_cells_alone_count(folder, reports, monkeypatch):
    """The start page checks a bug that shipped, and a learner may check anything."""
    shell = InteractiveShell.instance()
    monkeypatch.chdir(folder)
    own, other = 'check("silu_forward", silu_forward, backend="torch")', 'check("silu_forward", wild, backend="torch")'
    monkeypatch.setitem(shell.user_ns, "In", ["", own, other])
    monkeypatch.setitem(shell.user_ns, "Out", {2: reports["wrong"]})
    assert step(progress.chapter("01_silu").chapter).state == "open"
    monkeypatch.setitem(shell.user_ns, "Out", {1: reports["right"], 2: reports["wrong"]})
    assert step(progress.chapter("01_silu").chapter).state == "passed"


def test_a_written_answer_counts_when_it_is_written(folder):
    assert silu(folder).questions == (("silu_epsilon", False),)
    path = folder / "01_silu.ipynb"
    path.write_text(path.read_text().replace("YOUR ANSWER HERE", "Because epsilon moves the zero."))
    assert silu(folder).questions == (("silu_epsilon", True),)


@pytest.mark.parametrize("text", ["", "<<<<<<< HEAD", "[]", '{"cells": []}', '{"metadata": [1], "cells": [{}]}'])
def test_a_file_that_is_not_a_notebook_does_not_hide_the_others(tmp_path, text):
    (tmp_path / "01_silu.ipynb").write_text(text)
    (tmp_path / "scratch.ipynb").write_text(text)
    chapters = read_progress(tmp_path, SOURCES)
    assert [c.name for c in chapters] == [path.stem for path in SOURCES]
    assert len(silu(tmp_path).steps) == len(SILU.steps)


def test_a_chapter_without_an_exercise_is_one_and_the_start_page_is_not(folder):
    for name in ("start", "42_new"):
        metadata = {"graded_kernels": {"chapter": name}}
        (folder / f"{name}.ipynb").write_text(json.dumps({"cells": [], "metadata": metadata}))
    found = [chapter.name for chapter in read_progress(folder, [*SOURCES, folder / "42_new.ipynb"])]
    assert found == [*(path.stem for path in SOURCES), "42_new"]


def test_without_the_chapters_as_built_ones_own_notebooks_count(folder):
    (chapter,) = read_progress(folder)
    assert (chapter.name, len(chapter.steps)) == ("01_silu", len(SILU.steps))


def test_the_terminal_shows_a_table_with_bars(folder, reports, capsys):
    save(folder, {"silu_forward-torch-check": reports["right"], "silu_backward-torch-check": reports["wrong"]})
    assert cli.main(["progress", "--notebooks", str(folder)]) == 0
    output = capsys.readouterr().out
    assert re.search(rf"SiLU.* {bar(1, REQUIRED)}  1/{REQUIRED} ", output)
    first = read_progress(folder, SOURCES)[0].steps[0]
    assert f"Next: 00_floats_and_tiles.ipynb, {first.name}." in output
    assert cli.main(["progress", "--json", "--notebooks", str(folder)]) == 0
    shown = {chapter["name"]: chapter for chapter in json.loads(capsys.readouterr().out)}
    assert shown["01_silu"]["passed"] == 1
    assert shown["02_gelu"]["passed"] == 0


def shared(folder, capsys, *chapter) -> list[str]:
    """The form of `progress --share`, without its first sentence."""
    assert cli.main(["progress", "--notebooks", str(folder), "--share", *chapter]) == 0
    head, blank, *lines = capsys.readouterr().out.splitlines()
    assert (head, blank) == (HEAD, "")
    return [re.split("  +", line, maxsplit=1)[1] for line in lines]


def test_the_form_to_send_or_not_says_in_ten_lines_what_is_known(folder, reports, capsys):
    other = replace(reports["right"], exercise="silu_backward")
    save(folder, {"silu_backward-torch-check": other, "silu_forward-torch-check": reports["wrong"]})
    lines = shared(folder, capsys)
    assert len(lines) == 10
    assert lines[0].startswith("01 SiLU")
    assert lines[1] == f"{BLANK} (the chapter says two and a half hours)"
    assert lines[2] == f"1 of {REQUIRED}, 0 of 1 written"
    assert lines[3] == f"silu_forward (PyTorch), tried, {reports['wrong'].score:.0%}"
    assert lines[4].startswith("failed: ")
    assert lines[5:8] == [BLANK] * 3
    assert "torch 2." in lines[9]


def test_the_form_holds_neither_names_nor_code_nor_paths(folder, capsys):
    def silu_forward(x):
        return secret_of_alice(x)  # noqa: F821

    report = check("silu_forward", silu_forward, backend="torch")
    assert "secret_of_alice" in str(report)
    save(folder, {"silu_forward-torch-check": report})
    text = "\n".join(shared(folder, capsys))
    assert "alice" not in text
    assert str(folder) not in text
    assert "silu_forward (PyTorch), tried" in text


def test_the_form_is_of_the_last_chapter_worked_on_or_of_a_named_one(folder, reports, capsys):
    assert shared(folder, capsys, "02_gelu")[2].startswith("0 of ")
    with_nothing = cli.main(["progress", "--notebooks", str(folder), "--share"])
    assert with_nothing == 2
    assert "nothing to tell" in capsys.readouterr().err
    assert cli.main(["progress", "--notebooks", str(folder), "--share", "02_silu"]) == 2
    assert "there is no chapter '02_silu' here; there are 00_floats_and_tiles, 01_silu" in capsys.readouterr().err
    (chapter,) = read_progress(folder)
    save(folder, {f"{s.exercise}-{s.backend}-check": reports["right"] for s in chapter.required})
    assert shared(folder, capsys)[3:5] == ["the written answer", "none"]


def test_a_chapters_end_shows_what_is_left_and_links_to_the_next(folder, reports, monkeypatch):
    save(folder, {"silu_forward-torch-check": reports["right"], "silu_forward-triton-check": reports["wrong"]})
    monkeypatch.chdir(folder)
    end = progress.chapter("01_silu")
    assert f"1 of {REQUIRED} passed" in str(end)
    assert repr(end) == str(end)  # what a notebook without HTML shows
    assert "silu_forward (Triton), tried; silu_backward (Triton)" in str(end)
    assert "\nOptional: swiglu_forward (Triton);" in str(end)
    assert str(end).count("Left:") == 1
    assert "silu_forward (PyTorch)," not in str(end)
    html = end._repr_html_()
    assert '<a href="02_gelu.ipynb">02 GELU' in html
    assert 'value="1"' in html


def test_the_last_cell_of_a_chapter_that_is_not_known_says_so(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert repr(progress.chapter("02_silu")).startswith(
        "There is no chapter '02_silu' here: run `graded-kernels progress`"
    )


def test_html_is_well_formed_and_escapes_titles(folder):
    chapter = silu(folder)
    odd = chapter.__class__("01_<silu>", "<script>", True, chapter.steps, chapter.questions)
    for html in (Course((odd,))._repr_html_(), End(odd, odd)._repr_html_()):
        ElementTree.fromstring(html)
        assert "<script>" not in html
        assert 'href="01_%3Csilu%3E.ipynb"' in html


def test_every_chapter_ends_with_how_far_one_is():
    for path in SOURCES:
        last = nbformat.read(path, as_version=4).cells[-1]
        assert last.source.endswith(f'progress.chapter("{path.stem}")')
        assert "nbgrader" not in last.metadata


def test_an_optional_step_is_not_waited_for(folder, reports):
    """SwiGLU's two kernels are worth no points."""
    (chapter,) = read_progress(folder)
    optional = [step.name for step in chapter.steps if step.optional]
    assert optional == ["swiglu_forward (Triton)", "swiglu_backward (Triton)"]
    passed = {f"{s.exercise}-{s.backend}-check": reports["right"] for s in chapter.required}
    save(folder, passed)
    (chapter,) = read_progress(folder)
    assert (chapter.passed, chapter.left) == (REQUIRED, [])
    assert "Optional: swiglu_forward (Triton); swiglu_backward (Triton)" in str(End(chapter, None))
    assert chapter.hours == "two and a half hours"
