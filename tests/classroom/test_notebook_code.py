"""Notebook code as Python: magics, shell escapes and imports of the course are left out, and nothing else."""

import pytest
from bounded import bounded
from graded_kernels.autograder.classroom.nbgrader import notebook_code
from graded_kernels.autograder.classroom.nbgrader.notebook_code import NOTES, plain_python, prying, without_course
from graded_kernels.autograder.classroom.nbgrader.summary import Summary


@pytest.mark.parametrize(
    "source, python, left_out",
    [
        ("x = 1\n%timeit f(x)\n!ls\ny = 2", "x = 1\npass\npass\ny = 2\n", [2, 3]),
        ("files = !ls\nf?\nif x:\n    %time f(x)", "pass\npass\nif x:\n    pass\n", [1, 2, 4]),
        ("\n%%time\n\ndef f(x):\n    return x % 2", "\n\n\ndef f(x):\n    return x % 2\n", [2]),
        ("%%html\n<b>bold</b>", "", [1]),
        ("x = (5\n     % 3)\n%time x", "x = (5\n     % 3)\npass\n", [3]),
        ("s = '''\n%time x\n'''\n!ls", "s = '''\n%time x\n'''\npass\n", [4]),
    ],
)
def test_what_only_ipython_understands_is_left_out(source, python, left_out):
    code, notes = plain_python(source)
    assert code == python
    assert [int(note.split()[1]) for note in notes] == left_out
    assert all("is not Python and was left out: " in note for note in notes)


@pytest.mark.parametrize("source", ["x = (5\n     % 3)", "def f(x:\n", "", "\n# nothing\n", "s = '!ls'", "\0"])
def test_python_and_what_is_neither_stay_as_they_are(source):
    assert plain_python(source) == (source, [])


def test_imports_of_the_course_are_left_out():
    source = "import torch\nfrom graded_kernels.kernels import (\n    silu,\n)\nx = 1"
    code, notes = without_course(source)
    assert code == "import torch\npass\n\n\nx = 1"
    assert notes == ["Line 2 imports the course's own code and was left out: from graded_kernels.kernels import ("]


@pytest.mark.parametrize(
    "source, python",
    [
        ("é = 1; import graded_kernels; x = 2", "é = 1; pass; x = 2"),
        ("if x: import graded_kernels\ny = 1", "if x: pass\ny = 1"),
        ("from graded_kernels import (\n    a,\n    b); x = 1; y = (\n    2)", "pass; x = 1; y = (\n\n\n    2)"),
        ("import graded_kernels\r\nx = 1\ry = 2", "pass\nx = 1\ny = 2"),
    ],
)
def test_what_shares_a_line_with_an_import_of_the_course_stays(source, python):
    code, notes = without_course(source)
    assert code == python
    assert len(notes) == 1


@pytest.mark.exhaustive
def test_a_megabyte_of_imports_of_the_course_is_one_line_left_out():
    code, notes = bounded(lambda: without_course("import graded_kernels;" * 45_000 + " "))
    assert code == "pass;" * 45_000 + " "
    assert len(notes) == 1


def test_of_many_lines_left_out_the_first_are_named():
    _, notes = without_course("import graded_kernels\n" * 30_000)
    assert len(notes) == NOTES + 1
    assert notes[-1] == f"{30_000 - NOTES:,} more lines were left out for the same reason."


def test_ipython_translates_a_cell_once(monkeypatch):
    """It reads the whole cell again for each of hundreds of magics, and several steps ask for the same cell."""
    read = []

    class Counted(notebook_code.TransformerManager):
        def transform_cell(self, cell):
            read.append(cell)
            return super().transform_cell(cell)

    monkeypatch.setattr(notebook_code, "TransformerManager", Counted)
    source = "%time x\ndef f_of_this_test(x):\n    return x\n"
    code, notes = plain_python(source)
    assert notebook_code.defined(source) == {"f_of_this_test"}
    assert not notebook_code.is_blank(source)
    notes.append("of the caller")
    assert plain_python(source) == (code, notes[:1])
    assert len(read) == 1


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("print(open('class_secret').read())", ["class_secret"]),
        ("print(os.environ)\nopen('/etc/passwd')", ["os.environ", "/etc/passwd"]),
        ("import gc, sys\ngc.get_objects(); sys._getframe(1)", ["get_objects", "_getframe"]),
        ('import os\nos.environ["TRITON_INTERPRET"] = "1"', []),
        ("y = torch.exp(x)  # my secret", []),
    ],
)
def test_what_no_answer_needs_is_named(source, found):
    assert prying({"cell_type": "code", "source": source}) == found
    assert prying({"cell_type": "markdown", "source": source}) == []


def test_code_that_pries_is_a_line_for_the_teacher():
    text = str(Summary(graded=1, prying=["tom, 01_silu: class_secret, os.environ"]))
    assert "what no answer needs" in text
    assert "  tom, 01_silu: class_secret, os.environ" in text
