"""What a report tells a learner, apart from the verdict: numbers that can be used."""

import io
import re
from pathlib import Path

import pytest
import torch
from answers import SETUP, answer
from graded_kernels.autograder import check, cli
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import Answer, Cell
from graded_kernels.autograder.words import Pace, Progress, Terminal
from turns import one_in


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_check_shows_nothing_where_nobody_looks():
    stream = io.StringIO()
    with Progress("silu_forward", after=0, stream=stream) as progress:
        assert progress.thread is None
    assert stream.getvalue() == ""


def test_a_terminal_shows_where_a_check_is_and_the_line_goes():
    stream = Tty()
    line = Terminal(stream)
    line.show("checking silu_forward, 3 s: case 2 of 17, exact zeros")
    line.clear()
    assert "case 2 of 17, exact zeros" in stream.getvalue()
    assert stream.getvalue().endswith("\r\033[K")


def test_how_long_the_rest_takes_is_said_while_something_is_left():
    pace = Pace()
    assert pace.text(2, 5) == "[2/5]"  # these were there already
    pace.begun, pace.made = pace.begun - 60, 2
    assert pace.text(3, 5, odd=", 1 not judged") == "[3/5, 1 not judged, about 60 s left]"
    assert pace.text(4, 5, odd=", 1 not judged") == "[4/5, 1 not judged, the last one is left]"
    assert pace.text(1, 5, left=6) == "[1/5, about 3 min left]"  # other things are counted than made
    assert pace.text(5, 5) == "[5/5]"


def test_what_is_under_way_is_said_with_a_way_out_of_a_loop():
    with Progress("silu_forward", stream=Tty()) as progress:
        progress.at("case 2 of 17, exact zeros")
        assert "case 2 of 17, exact zeros" in progress.text()
        assert "endless" not in progress.text()
        progress.since -= 100
        assert "interrupt: the message names its line" in progress.text()
        progress.since -= 100
        progress.limited = True  # a time limit ends the call
        assert progress.text().endswith("case 2 of 17, exact zeros (200 s)")


def test_the_command_shows_what_is_under_way_in_a_file_or_a_function(monkeypatch, capsys):
    begun, seen = [], []
    monkeypatch.setattr(Progress, "__enter__", lambda progress: begun.append(progress.name) or progress)
    monkeypatch.setattr(Progress, "__exit__", lambda *error: None)
    monkeypatch.setattr(Progress, "at", lambda progress, where: seen.append(where))
    path = Path(__file__).parents[2] / "solutions" / "silu.py"
    for answer_named in (path, "graded_kernels.solutions.silu:silu_forward"):
        begun.clear()
        seen.clear()
        assert cli.main(["check", "silu_forward", str(answer_named), "--backend", "torch", "--in-process"]) == 0
        assert begun == ["silu_forward"]
        assert seen[0] == "case 1 of 22, ordinary values"
    capsys.readouterr()


def layer_norm(x, weight, bias, eps=1e-5):
    v = x.float()
    mean = v.mean(1)
    rstd = (v.var(1, correction=0) + eps).rsqrt() if v.numel() else mean
    y = (v - mean[:, None]) * rstd[:, None] * weight.float() + bias.float()
    return y.to(x.dtype), mean, rstd


@pytest.fixture(scope="module")
def right():
    return check("layer_norm_forward", layer_norm, backend="torch")


def test_what_a_right_answer_uses_of_the_tolerance_is_a_number_to_read(right):
    """A result near 0 is millions of ulp off and right: beside it stands what is allowed, not the ulp."""
    assert right.passed, str(right)
    worst = max((c for c in right.cases if c.status == "pass" and c.worst_ulp), key=lambda c: c.worst_ulp)
    assert worst.worst_ulp > 1000
    assert all(
        "of the tolerance" in c.message or c.message == "exact"
        for c in right.cases
        if c.status == "pass" and c.worst_ulp
    )
    assert f"{worst.worst_ulp:.2f}" not in worst.message
    assert "is allowed" in worst.message


def in_half(x):
    v = x.half()
    return (v * torch.sigmoid(v)).to(x.dtype)


def test_how_far_off_it_is_stands_beside_what_is_allowed():
    report_text = " ".join(str(check("silu_forward", in_half, backend="torch")).split())
    assert re.search(r"off by [\d,]+ ulp, where [\d.]+ are allowed", report_text), report_text


GRID = """
@triton.jit
def kernel(a, x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, a * x + y, mask=mask)


def axpy(a, x, y):
    out = torch.empty_like(x)
    kernel[(x.numel() // 1024,)](a, x, y, out, x.numel(), BLOCK=1024)
    return out
"""


def test_a_grid_of_no_program_is_told_with_the_division_that_rounds_up(cases_until):
    cases_until("axpy", "one element")
    report = check_answer(Answer("axpy", (SETUP, Cell("axpy", GRID))), Settings("triton", compiler=False))
    message = next(case.message for case in report.cases if case.name == "one element")
    assert "a grid of (0, 1, 1)" in message
    assert "triton.cdiv" in message


@pytest.fixture
def first_of(cases_until):
    def first_of(answer: Answer, backend: str, last: str):
        """The first case that fails, of those up to ``last``."""
        cases_until(answer.exercise, last)
        return check_answer(answer, Settings(backend, compiler=False)).causes[0].cases[0]

    return first_of


def test_a_grid_rounded_down_is_told_of_its_grid_and_not_of_the_formula(first_of):
    case = first_of(Answer("axpy", (SETUP, Cell("axpy", GRID))), "triton", "one element")
    assert case.name == "three blocks and a rest"
    assert "Check that the grid covers the whole tensor" in case.message
    assert case.hint == ""


VARIANCE = "(d * d).mean(-1, keepdim=True)"
HALF_LOSS = "logits.to(torch.promote_types(logits.dtype, torch.float32))"
# exercise, backend, our text, the mistake, the first case that sees it, what its hint says, what it must not say
MISTAKES = [
    (
        ("layer_norm_forward", "triton", "tl.where(mask, x - mean, 0.0)", "x - mean"),
        ("3 columns", "the fourth lane", "0 / 0"),
    ),
    (
        ("token_mean", "torch", "loss.where(keep, 0).sum()", "loss.sum()"),
        ("some rows ignored", "gradient is 0", "Divide by"),
    ),
    (
        ("cross_entropy_forward", "torch", "x.amax(1, keepdim=True)", "x.amax().expand(len(x), 1)"),
        ("no rows", "largest of none", "check of the labels"),
    ),
    (
        ("cross_entropy_forward", "torch", HALF_LOSS, "logits"),
        ("a nearly certain label, float16", "rounded to float16", "no label"),
    ),
    (
        ("linear_cross_entropy_forward_backward", "torch", "dweight += dlogits.t() @ x", "dweight = dlogits.t() @ x"),
        ("17 classes", "add its share", "look at the masks"),
    ),
    (
        (
            "linear_cross_entropy_forward_backward",
            "torch",
            "logits = x @ w.t()",
            "logits = (x @ w.t()).to(weight.dtype).to(wide)",
        ),
        ("float16", "Convert to float32", "2^30"),
    ),
    (
        ("masked_softmax_forward", "torch", "wide(x).masked_fill", "x.masked_fill"),
        ("every second column", "Compute in float32", "two"),
    ),
    (
        ("attention_forward", "torch", "acc = acc * keep + p", "acc = acc + p"),
        ("lengths around a block", "how are they put together", "-inf"),
    ),
    (
        ("cross_entropy_backward", "triton", "(M, triton.cdiv(V, block))", "(M, 1)"),
        ("a first block of -inf", "", "-inf"),  # elements that were never written: the message says so
    ),
    (
        ("layer_norm_forward", "torch", VARIANCE, "((v * v).mean(-1, keepdim=True) - mean * mean)"),
        ("variance far below eps", "subtracted before the square", "0 / 0"),
    ),
    (
        ("cross_entropy_backward", "triton", "dlogits = torch.empty_like(logits)", "dlogits = logits"),
        ("ordinary values", "", "formula"),  # right values, by writing into an input
    ),
]


@pytest.mark.parametrize(("mistake", "expected"), one_in(2, MISTAKES, lambda row: row[0][0]))
def test_the_hint_is_about_the_mistake(mistake, expected, first_of):
    name, backend, old, new = mistake
    dies_in, says, not_this = expected
    case = first_of(answer(name, backend, old, new), backend, dies_in)
    assert case.name == dies_in, f"{case.message} {case.hint}"
    assert says in case.hint, f"{case.message} {case.hint}"
    assert not_this not in case.hint, f"{case.message} {case.hint}"
