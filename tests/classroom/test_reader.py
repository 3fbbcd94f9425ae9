"""What was handed in is read in a process that may die of it: the other cells are graded all the same."""

import copy
import json
import os
import signal
import sys

import nbformat
import pytest
from graded_kernels.autograder.classroom.nbgrader.notebook_file import PICTURES, UnreadableSubmission
from graded_kernels.autograder.classroom.nbgrader.pages import NotGradable
from graded_kernels.autograder.classroom.nbgrader.reader import Reader
from graded_kernels.autograder.classroom.nbgrader.rebuild import DOUBT, LOST, NOTES, PYTHON, RECORD, grade_id
from graded_kernels.autograder.classroom.nbgrader.submission import Notebook, running_code
from graded_kernels.course import cells

ANSWERS = ("silu_forward", "silu_backward", "gelu_forward", "gelu_backward", "row_sum")
RIGHT = "def {}(x):\n    return x"
SLOW = "%time 1\n" * 4_000 + "a" * 15_000 + " ?"  # IPython reads the cell again for each magic
FIELDS = 'x = f"""' + "{x}" * 60_000 + '"""'  # Python 3.11 reads it in quadratic time


def notebook(*sources: str, markdown: str = "Some text", **attachments: dict) -> nbformat.NotebookNode:
    """Answers to exercises, in order, and a text."""
    answers = [cells.answer(source, f"{name}-torch") for name, source in zip(ANSWERS, sources, strict=False)]
    text = nbformat.v4.new_markdown_cell(markdown, attachments=attachments)
    return nbformat.v4.new_notebook(cells=[*answers, text])


@pytest.fixture(scope="module")
def reader():
    return Reader(megabytes=50, code_megabytes=1)


@pytest.fixture
def read(reader, tmp_path):
    """Reads a notebook, or a text, as submitted for one with five stubs."""
    released = tmp_path / "released.ipynb"
    released.write_text(nbformat.writes(notebook(*("..." for _ in ANSWERS))))

    def rebuilt(submitted: nbformat.NotebookNode | str) -> nbformat.NotebookNode:
        path = tmp_path / "submitted.ipynb"
        path.write_text(submitted if isinstance(submitted, str) else json.dumps(submitted))
        return reader.rebuilt(path, released)

    return rebuilt


def code(rebuilt: nbformat.NotebookNode) -> list[str]:
    return [cell.source for cell in running_code(rebuilt).values()]


def notes(rebuilt: nbformat.NotebookNode) -> str:
    return " ".join(rebuilt.metadata.get(RECORD, {}).get(NOTES, []))


def test_a_running_code_comes_as_python(read):
    rebuilt = read(notebook("%time 1\nx = 1", RIGHT.format("f")))
    assert code(rebuilt)[:2] == ["pass\nx = 1\n", RIGHT.format("f")]
    first = next(cell for cell in rebuilt.cells if grade_id(cell) == "silu_forward-torch")
    assert "Line 1 is not Python" in first.outputs[0].data["text/plain"]


def test_what_was_released_runs_in_order_but_for_checks_and_demonstrations(reader, tmp_path):
    """As it was released, whatever was made of it; imports of the course and of records beside it are left out."""
    (tmp_path / "ramp_record.py").touch()
    released = nbformat.v4.new_notebook(
        cells=[
            cells.setup("from graded_kernels.autograder import check\nimport ramp_record\nimport torch"),
            nbformat.v4.new_code_cell("CAP = 30", id="cap"),
            cells.demo("torch.ones(3)", "shown"),
            cells.answer("...", "ramp-torch"),
            nbformat.v4.new_code_cell("%time AFTER = 1", id="after"),
            cells.check("ramp", "torch", 4),
        ]
    )
    submitted = copy.deepcopy(released)
    submitted.cells[1].source, submitted.cells[3].source = "CAP = 31", "def ramp(x): ..."
    submitted.cells.insert(4, nbformat.v4.new_code_cell("import ramp_record, math", id="mine"))
    for name, one in (("released", released), ("submitted", submitted)):
        nbformat.write(one, tmp_path / f"{name}.ipynb")
    rebuilt = reader.rebuilt(tmp_path / "submitted.ipynb", tmp_path / "released.ipynb")
    assert code(rebuilt) == ["pass\npass\nimport torch", "CAP = 30", "def ramp(x): ...", "pass", "pass\n"]
    assert notes(rebuilt) == "The cell `cap` had been changed. It was put back as released. It begins with `CAP = 30`."


def test_a_cell_that_takes_too_long_is_left_out_alone(read):
    rebuilt = read(notebook(SLOW, RIGHT.format("silu_backward")))
    assert code(rebuilt)[:2] == ["...", RIGHT.format("silu_backward")]
    assert "The cell `silu_forward-torch` takes more than 1 s to read as Python" in notes(rebuilt)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="not run: Python 3.12 reads an f-string in linear time")
def test_so_is_one_that_does_so_when_its_parts_are_joined(read):
    half = FIELDS[: len(FIELDS) // 2]
    submitted = notebook(half, RIGHT.format("silu_backward"))
    submitted.cells.insert(1, cells.answer(FIELDS[len(half) :], "silu_forward-torch"))
    rebuilt = read(submitted)
    assert code(rebuilt)[:2] == ["", RIGHT.format("silu_backward")]


@pytest.mark.exhaustive
def test_a_notebook_of_such_cells_is_not_read(read):
    with pytest.raises(UnreadableSubmission, match="has more than 3 cells that take too long to read as Python"):
        read(notebook(*(f"y = {number}\n{SLOW}" for number in range(5))))


@pytest.mark.parametrize(
    "text, reason",
    [
        pytest.param(
            '{"cells": [' + '{"":0},' * 6_500_000 + "[]]}",
            "takes more than 1,024 MiB of memory to read",
            marks=pytest.mark.exhaustive,
        ),
        ("[" * 1_000_000, "is not a notebook: its JSON cannot be read"),
        ("{}", "it has no list of cells"),
    ],
)
def test_json_that_takes_too_much_is_not_read(read, text, reason):
    with pytest.raises(UnreadableSubmission, match=reason):
        read(text)
    assert code(read(notebook(RIGHT)))[0] == RIGHT, "the next one is read"


def submitted_beside(reader, tmp_path, released, submitted):
    for name, one in (("released", released), ("submitted", submitted)):
        nbformat.write(one, tmp_path / f"{name}.ipynb")
    return reader.rebuilt(tmp_path / "submitted.ipynb", tmp_path / "released.ipynb")


@pytest.mark.parametrize("kind", [nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell])
def test_a_text_in_an_own_cell_below_the_question_waits(reader, tmp_path, kind):
    """Untouched, the question itself would be a final 0. A cell that JupyterLab adds is one of code."""
    asked = nbformat.v4.new_notebook(cells=[cells.question("Say why.", "epsilon", 3), cells.prose("Next.", "next")])
    released, submitted = copy.deepcopy(asked), copy.deepcopy(asked)
    submitted.cells.insert(1, kind("It divides by zero.", id="mine"))
    untouched = submitted_beside(reader, tmp_path, released, asked)
    assert (untouched.cells[0].source, notes(untouched)) == (released.cells[0].source, "")
    rebuilt = submitted_beside(reader, tmp_path, released, submitted)
    assert rebuilt.cells[0].source != released.cells[0].source
    assert "`epsilon` is as it was released, and a text follows it, which may be the answer." in notes(rebuilt)
    assert "It begins with `It divides by zero.`" in notes(rebuilt)
    submitted.cells[0].source = "It divides by zero."
    assert notes(submitted_beside(reader, tmp_path, released, submitted)) == ""


KERNEL = "@triton.jit\ndef kernel(X):\n    ...\n"
LAUNCHER = "def f(x):\n    kernel[(1,)](x)\n    return x"


def doubts(rebuilt: nbformat.NotebookNode) -> dict[str, str]:
    """Which answers a person has to find, and why."""
    return {
        grade_id(cell): cell.metadata[RECORD][DOUBT] for cell in rebuilt.cells if DOUBT in cell.metadata.get(RECORD, {})
    }


@pytest.mark.parametrize("split", [True, False])
def test_a_cell_that_launches_a_kernel_is_none_for_pytorch(reader, tmp_path, split):
    """The PyTorch cell is gone, and a kernel's launcher has a cell of its own, without an id."""
    torch, triton = cells.answer("...", "f-torch"), cells.answer("... #", "f-triton")
    released = nbformat.v4.new_notebook(cells=[torch, triton])
    submitted = nbformat.v4.new_notebook(cells=[copy.deepcopy(triton)])
    submitted.cells[0].source = KERNEL
    submitted.cells.append(nbformat.v4.new_code_cell(LAUNCHER if split else "def f(x):\n    return table[0](x)"))
    rebuilt = submitted_beside(reader, tmp_path, released, submitted)
    if split:
        assert code(rebuilt)[1:] == [KERNEL, LAUNCHER]
        assert notes(rebuilt) == "The cell `f-torch` is missing."
        assert doubts(rebuilt) == {}
    else:  # taken for PyTorch's, where Triton's lacks its function
        assert "The cell that defines `f` was taken for it." in notes(rebuilt)
        why = "the cell that defines `f` was taken for `f-torch`, and `f-triton` has no such function"
        assert doubts(rebuilt) == dict.fromkeys(("f-torch", "f-triton"), f"{why}: one cell may be a half of the other")


def test_an_answer_that_a_person_has_to_find_gets_no_points(reader, tmp_path):
    cell = cells.answer("def f(x):\n    return x", "f-torch")
    cell.metadata[RECORD] = {DOUBT: "one cell may be a half of the other", PYTHON: {"code": cell.source, "notes": []}}
    notebook = Notebook("fay, tiny", nbformat.v4.new_notebook(cells=[cell, cells.check("f", "torch", 2)]))
    with pytest.raises(NotGradable, match="one cell may be a half of the other"):
        notebook.check("f-torch-check")


def test_where_all_cells_have_lost_their_ids_one_sentence_says_it(reader, tmp_path):
    released = nbformat.v4.new_notebook(cells=[cells.answer(f"... # {name}", f"{name}-torch") for name in "fg"])
    submitted = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(RIGHT.format(name)) for name in "gf"])
    rebuilt = submitted_beside(reader, tmp_path, released, submitted)
    assert notes(rebuilt) == f"{LOST}`f-torch`, `g-torch`."
    assert code(rebuilt) == [RIGHT.format("f"), RIGHT.format("g")]
    assert not any(NOTES in cell.metadata.get(RECORD, {}) for cell in rebuilt.cells)


@pytest.mark.parametrize(("language", "named"), [("julia", True), ("python", False), ("", False)])
def test_a_kernel_of_another_language_is_named(read, language, named):
    submitted = notebook(RIGHT.format("f"))
    submitted.metadata.kernelspec = {"name": "any", "display_name": "any", "language": language}
    assert notes(read(submitted)).startswith("The notebook's kernel is one for julia.") == named
    assert ("kernel" in notes(read(submitted))) == named


def test_line_breaks_of_windows_are_no_change(reader, tmp_path):
    setup, answer = cells.setup("import math\nimport torch"), cells.answer("...", "f-torch")
    released = nbformat.v4.new_notebook(cells=[setup, answer])
    submitted = copy.deepcopy(released)
    submitted.cells[0].source = submitted.cells[0].source.replace("\n", "\r\n")
    submitted.cells[1].source = "def f(x):\r\n    return x"
    rebuilt = submitted_beside(reader, tmp_path, released, submitted)
    assert notes(rebuilt) == ""
    assert code(rebuilt)[1] == "def f(x):\n    return x"


def test_a_name_that_no_file_can_hold_is_changed(read):
    rebuilt = read(notebook(RIGHT, markdown="![](attachment:a.png)", **{"a\ud800.png": {"image/\ud800": "aaaa"}}))
    nbformat.writes(rebuilt).encode()


def test_pictures_beyond_the_limit_are_left_out_and_named(read):
    small, large = {"image/png": "a" * 1000}, {"image/png": "a" * (PICTURES * 1_000_000)}
    rebuilt = read(notebook(RIGHT, markdown="![](attachment:b)", **{"a": small, "b": large}))
    text = next(cell for cell in rebuilt.cells if "attachment:b" in cell.source)
    assert list(text.attachments) == ["a"]
    assert "missing-attachment:b" in text.source
    assert f"A picture was left out: those of a notebook may take {PICTURES} MB." in text.source


def test_where_the_process_itself_is_killed_another_takes_its_place(tmp_path, read, reader, monkeypatch):
    assert code(read(notebook(RIGHT)))[0] == RIGHT
    os.kill(reader._server._process.pid, signal.SIGKILL)
    reader._server._process.wait()
    assert code(read(notebook(RIGHT)))[0] == RIGHT
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with pytest.raises(RuntimeError, match="the process that reads submissions ended"):
        Reader(50, 1).rebuilt(tmp_path / "submitted.ipynb", tmp_path / "released.ipynb")
