"""Answers that are code, not yet a function: what loads them, and what is said of code that is no answer."""

import pytest
from graded_kernels.autograder.judge import Settings
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.runner.call.answer import Answer, AnswerError, Cell
from graded_kernels.autograder.runner.call.definitions import definitions_in

SOURCE = "import torch\n\ndef silu_forward(x):\n    v = x.float()\n    return (v / (1 + torch.exp(-v))).to(x.dtype)\n"


def test_an_answer_that_is_code():
    assert check_answer(Answer("silu_forward", (Cell("mine", SOURCE),)), Settings("torch")).passed


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def silu_forward(x)\n    return x\n", "not Python, line 1"),
        ("def silu(x):\n    return x\n", "no function silu_forward"),
        ("import torch\nraise RuntimeError('on purpose')\n", "RuntimeError: on purpose"),
        ("import sys\nsys.exit(0)\n", "SystemExit"),
        ("from graded_kernels.solutions.silu import silu_forward\n", "imports graded_kernels"),
        ("import graded_kernels.kernels as k\nsilu_forward = k.silu\n", "imports graded_kernels"),
        (f"from .helpers import sigmoid\n{SOURCE}", "Line 1 imports from the package around it"),
    ],
)
def test_code_that_is_no_answer_says_why(source, words):
    report = check_answer(Answer("silu_forward", (Cell("mine", source),)), Settings("torch"))
    assert (report.passed, report.score) == (False, 0.0)
    assert words in report.summary


def test_a_cell_that_fails_does_not_take_the_answer_with_it():
    cells = (Cell("notes", "1 / 0"), Cell("mine", SOURCE))
    assert check_answer(Answer("silu_forward", cells), Settings("torch")).passed


def test_an_earlier_answer_that_is_refused_is_not_run():
    refused = Cell("torch", "from graded_kernels.solutions.silu import silu_forward\nhelper = silu_forward\n")
    assert check_answer(Answer("silu_forward", (refused, Cell("mine", SOURCE))), Settings("torch")).passed
    needs = Answer("silu_forward", (refused, Cell("mine", "silu_forward = helper\n")))
    assert "NameError" in check_answer(needs, Settings("torch")).summary
    behind = Answer("silu_forward", (Cell("mine", SOURCE), refused), after=1)
    assert "imports graded_kernels" in check_answer(behind, Settings("torch")).summary


def test_an_answer_of_the_other_backend_is_not_taken_for_a_missing_one():
    cells = (Cell("torch", SOURCE), Cell("triton", "pass"))
    with pytest.raises(AnswerError, match="no function silu_forward"):
        Answer("silu_forward", cells).load()


def test_the_definitions_in_a_cell():
    """They keep their lines, which a traceback and Triton read."""
    source = """import math
BLOCK, K = tl.constexpr(64), {"a": -1, **MORE}
while True: pass
@triton.jit
def kernel(x_ptr):
    pass
slow = compute()
WIDE: int = 2 * BLOCK
one = 1; compute()
class Layer:
    pass
squares = [i * i for i in range(9)]
"""
    left_out = {2, 6, 8, 11}
    lines = ["" if number in left_out else line for number, line in enumerate(source.splitlines())]
    assert definitions_in(source).splitlines() == lines
    assert definitions_in("while True:\n    pass\n") == ""
    assert Cell("mine", "def broken(:").definitions.source == ""
