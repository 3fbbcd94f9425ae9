"""Answers that are code, not yet a function: what loads them, and what is said of code that is no answer."""

import pytest
import torch
from graded_kernels.autograder.judge import EXERCISES
from graded_kernels.autograder.runner import Answer, AnswerError, Call, Cell, InProcess, Outcome
from graded_kernels.autograder.runner.call.definitions import definitions_in

SOURCE = "import torch\n\ndef silu_forward(x):\n    v = x.float()\n    return (v / (1 + torch.exp(-v))).to(x.dtype)\n"


X = torch.tensor([0.0, -0.5, 3.0])


def outcome(*cells: Cell, after: int = 0) -> Outcome:
    """What comes of a call of the function that these cells define."""
    code = Answer("silu_forward", cells, after=after)
    return InProcess.of(code, EXERCISES["silu_forward"].contract, "torch").examine(Call((X,))).first


def test_an_answer_that_is_code():
    (y,) = outcome(Cell("mine", SOURCE)).outputs
    torch.testing.assert_close(y, X * X.sigmoid())


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
    assert words in outcome(Cell("mine", source)).trouble.message


def test_a_cell_that_fails_does_not_take_the_answer_with_it():
    assert outcome(Cell("notes", "1 / 0"), Cell("mine", SOURCE)).trouble is None


def test_an_earlier_answer_that_is_refused_is_not_run():
    refused = Cell("torch", "from graded_kernels.solutions.silu import silu_forward\nhelper = silu_forward\n")
    assert outcome(refused, Cell("mine", SOURCE)).trouble is None
    needs = Cell("mine", "silu_forward = helper\n")
    assert "NameError" in outcome(refused, needs).trouble.message
    assert "imports graded_kernels" in outcome(Cell("mine", SOURCE), refused, after=1).trouble.message


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
