"""What the check refuses to run: the op that is the answer, and autograd where the derivative is the exercise."""

import pytest
import torch
from answers import verdict
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import Answer, Cell


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (torch.nn.functional.silu, "You called silu"),
        (torch.nn.SiLU(), "You called silu"),
        (lambda x: torch.ops.aten.silu(x), "You called silu"),
    ],
)
def test_the_op_that_is_the_answer_is_refused(function, words):
    report, _ = verdict(function)
    assert report.score == 0.0
    assert words in report.summary


def autograd_grad(dy, x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad(x * torch.sigmoid(x), x, dy)[0]


def autograd_backward(dy, x):
    x = x.detach().requires_grad_()
    (x * torch.sigmoid(x)).backward(dy)
    return x.grad


def autograd_hidden(dy, x):
    try:
        return autograd_grad(dy, x)
    except BaseException:
        return torch.zeros_like(x)


def functional_vjp(dy, x):
    return torch.func.vjp(lambda v: v * torch.sigmoid(v), x)[1](dy)[0]


@pytest.mark.parametrize("function", [autograd_grad, autograd_backward, autograd_hidden, functional_vjp])
def test_autograd_is_refused_where_the_derivative_is_the_exercise(function):
    report, _ = verdict(function, "silu_backward")
    assert report.score == 0.0, str(report)
    assert "autograd" in report.summary, str(report)


def test_a_refusal_begins_with_its_line_unless_the_answer_caught_it():
    line = autograd_grad.__code__.co_firstlineno + 2
    shown, caught = (verdict(f, "silu_backward")[0].cases[0].message for f in (autograd_grad, autograd_hidden))
    assert shown == f"Line {line}, `return torch.autograd.grad(x * torch.sigmoid(x), x, dy)[0]`: {caught}"


def test_a_refusal_is_shown_without_an_input():
    report, _ = verdict(autograd_grad, "silu_backward")
    assert report.summary == report.cases[0].message, str(report)
    assert "went in" not in str(report), str(report)


def test_the_derivative_op_is_refused():
    report, _ = verdict(lambda dy, x: torch.ops.aten.silu_backward(dy, x), "silu_backward")
    assert report.score == 0.0
    assert "silu_backward" in report.summary


@pytest.mark.parametrize("body", ["x * torch.sigmoid(x)", "torch.nn.functional.silu(x)"])
def test_isolated_a_refusal_names_the_answers_line(body, worker, cases_until):
    cases_until("silu_forward", 1)
    source = f"import torch\nimport triton\n\n\ndef silu_forward(x):\n    return {body}\n"
    report = check_answer(Answer("silu_forward", (Cell("a", source),)), Settings("triton"), worker=worker)
    assert report.summary.startswith(f"Line 6, `return {body}`: You "), report.summary


def test_isolated_an_error_through_triton_names_the_answers_line(worker):
    source = """
import torch
import triton
@triton.jit
def kernel(x_ptr, y_ptr):
    ...
def silu_forward(x):
    kernel[(1,)](x)
"""
    report = check_answer(Answer("silu_forward", (Cell("a", source),)), Settings("triton"), worker=worker)
    assert "fails in line 8, `kernel[(1,)](x)`: TypeError: " in report.cases[0].message, report.cases[0].message
