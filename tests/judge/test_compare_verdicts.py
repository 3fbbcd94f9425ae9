"""What `compare` refuses, and what it does not: refusals by accident, results and graphs that are used twice, codes."""

import itertools

import pytest
import torch
from graded_kernels.autograder.judge.records import derived
from graded_kernels.autograder.judge.side_by_side import compare

# Families whose names begin so are left out: other tests have them.
PLAIN = ("NaN", "infinity", "-infinity", "float16", "bfloat16", "transposed", "every second", "rows", "one", "very")
FEW = ("dimension", *PLAIN)


def quick(reference, candidate, *arguments, without=FEW):
    return compare(reference, candidate, arguments, compiler=False, any_method=True, without=without)


def failing(report):
    return {case.name: case.message for case in report.cases if case.status in ("fail", "error")}


def not_run(report):
    return {case.name: case.message for case in report.cases if case.status == "not-run"}


def total(x):
    return x.sum()


def by_accident(x):
    return (x * (x.numel() / x.numel())).sum()


def on_purpose(x):
    if not x.numel():
        raise ValueError("nothing to add up")
    return x.sum()


def test_nothing_to_compute_is_refused_on_purpose_alone():
    without = (*PLAIN, "dimension 1")
    wrong = quick(total, by_accident, torch.randn(3, 4), without=without)
    assert failing(wrong) == {"dimension 0 of x: 0": "ZeroDivisionError: division by zero"}
    right = quick(total, on_purpose, torch.randn(3, 4), without=without)
    assert right.passed, str(right)
    assert "nothing to add up" in not_run(right)["dimension 0 of x: 0"]


def test_rows_without_columns_may_be_refused_by_accident():
    """A mean over nothing is nobody's case: kernels of five libraries fail there."""
    report = quick(lambda x: x * 2, lambda x: x * 2 * (x.shape[1] // x.shape[1]), torch.randn(3, 4), without=PLAIN)
    assert report.passed, str(report)
    assert "division" in not_run(report)["dimension 1 of x: 0"]


class SharesItsBuffer:
    """Returns one of so many tensors in turn from the calls of a shape."""

    def __init__(self, copies, buffers=1):
        self.buffers, self.copies, self.turns = {}, copies, itertools.cycle(range(buffers))

    def __call__(self, x):
        y = self.buffers.setdefault((x.shape, next(self.turns)), torch.empty_like(x))
        torch.add(x, x, out=y)
        return y.clone() if self.copies else y


def test_a_result_keeps_its_bits_in_the_next_call():
    wrong = quick(lambda x: x + x, SharesItsBuffer(copies=False), torch.randn(3, 4))
    assert "wrote over result, which an earlier call returned" in failing(wrong)["other numbers"]
    assert quick(lambda x: x + x, SharesItsBuffer(copies=True), torch.randn(3, 4)).passed


@pytest.mark.parametrize("buffers", [2, 3])
def test_a_result_keeps_its_bits_where_buffers_take_turns(buffers):
    wrong = quick(lambda x: x + x, SharesItsBuffer(copies=False, buffers=buffers), torch.randn(3, 4))
    assert any("wrote over result, which an earlier call returned" in said for said in failing(wrong).values())
    assert quick(lambda x: x + x, SharesItsBuffer(copies=True, buffers=buffers), torch.randn(3, 4)).passed


class SpoilsWhatItSaved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.clone())
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        x.data.mul_(2).mul_(dy)
        return x.clone()


class FreesWhatItSaved(SpoilsWhatItSaved):
    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        if ctx.__dict__.setdefault("done", False):
            raise RuntimeError("one backward alone")
        ctx.done = True
        return 2 * x * dy


def test_a_second_backward_gives_the_same_gradients_or_an_error():
    wrong = quick(torch.square, SpoilsWhatItSaved.apply, torch.randn(3, 4))
    assert [*failing(wrong)] == ["a second backward"], str(wrong)
    right = quick(torch.square, FreesWhatItSaved.apply, torch.randn(3, 4))
    assert right.passed, str(right)
    assert "a second backward" in {case.name for case in right.cases}


def drawn(seed):
    return torch.randn(6, 20, generator=torch.Generator().manual_seed(seed))


class SquaresFromAbove(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 0.5 * x * x

    @staticmethod
    def backward(ctx, dy):
        return dy * dy


class ReadsOneFromAbove(SquaresFromAbove):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return x * dy.flatten()[:1]


@pytest.mark.parametrize("candidate", [SquaresFromAbove, ReadsOneFromAbove])
def test_what_comes_from_above_is_not_what_the_seed_of_the_example_draws(candidate):
    options = {"compiler": False, "any_method": True, "without": FEW}
    report = compare(lambda x: 0.5 * x * x, candidate.apply, lambda seed: (drawn(seed),), **options)
    message = failing(report)["the example"]
    assert "values that result" not in message and "is 0 in every" not in message, message
    if candidate is ReadsOneFromAbove:
        assert "as if every" in message and "of upstream were its first" in message, message


def quantised(x):
    scale = x.abs().amax(1, keepdim=True) / 127
    return torch.floor(x / scale + 0.5).to(torch.int8)


def test_at_a_tie_both_codes_are_right_and_no_third():
    """A largest number of 2.78125 has half of it at code 63.5, whose float32 comes down on either side."""
    x = torch.tensor([[2.78125, 1.390625, 0.3, -1.0]], dtype=torch.float64)
    (allowed,) = derived.floor_of(quantised, casts=True)(x)
    assert allowed.tolist() == [[0, 1, 0, 0]]
