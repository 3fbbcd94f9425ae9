"""Whose bug an answer is not. That every wild bug is named is proven where the exercises are."""

import math
from dataclasses import replace

import pytest
import torch
from answers import Unwatched
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.judge.judge import judge
from graded_kernels.autograder.judge.records.record import Case, Tolerance, WildBug
from graded_kernels.autograder.judge.settings import Settings

ULP, NAN = 2.0**-23, math.nan


def test_half_precision_is_not_taken_for_another_form():
    """It is wrong here and there by rounding, and so near to several wild bugs' values; none of them is what it is."""

    def in_half(x, approximate="none"):
        inner = x / math.sqrt(2) if approximate == "none" else math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return 0.5 * x * (1 + (torch.erf(inner) if approximate == "none" else torch.tanh(inner)))

    report = check("gelu_forward", in_half, backend="torch")
    assert not report.passed
    assert report.fingerprint is None


def test_rounding_next_to_a_zero_of_the_result_does_not_hide_the_bug():
    """Where silu' is 0 a rounding is hundreds of ulp; candle's NaN at 0 tells whose bug it is, with every seed."""

    def divides_back(dy, x):
        y = x * torch.sigmoid(x)
        s = y / x
        return dy * (s * (1 + x * (1 - s)))

    for seed in (1397871144, 785310972, 1089709946, 516819858, 752002365):
        report = check("silu_backward", divides_back, backend="torch", seed=seed)
        assert report.fingerprint, f"seed {seed}"
        assert "candle" in report.fingerprint, f"seed {seed}"


def test_an_answer_that_is_right_where_a_bug_is_infinite_has_another_bug():
    """log(p) is infinite where the formula without a maximum is, too; here the maximum is subtracted, and lse right."""

    def log_of_p(logits, labels, ignore_index=-100):
        keep, x = labels != ignore_index, logits.float()
        own, top = x.gather(1, labels.where(keep, 0)[:, None])[:, 0], x.amax(1)
        total = (x - top[:, None]).exp().sum(1)
        return torch.where(keep, -((own - top).exp() / total).log(), 0), total.log() + top

    report = check("cross_entropy_forward", log_of_p, backend="torch")
    assert "large logits" in [case.name for case in report.causes[0].cases]
    assert report.fingerprint is None


def is_named(bug, *answers, dtype=torch.float32, floor=0.0):
    """Whether answers to calls with ten ones, whose right result is ten ones to within an ulp and ``floor``, are those
    of a bug that gives ``bug`` everywhere. answers: the results of each call, as pairs of a value and how often it
    comes.
    """
    results = iter([torch.tensor([value for value, times in one for _ in range(times)]).to(dtype) for one in answers])
    ones = torch.ones(10, dtype=dtype)
    record = replace(
        EXERCISES["silu_forward"],
        oracle=lambda x: x,
        peer=None,
        tolerance=Tolerance(1.0, 1.0, "", floor=lambda x: (floor,)),
        cases=tuple(Case(f"case {n}", lambda generator: (ones,), "") for n in range(len(answers))),
        wild=(WildBug("them", "thread", lambda x: torch.full_like(x, bug), "case 0", "story"),),
    )
    return judge(record, Unwatched(lambda x: next(results)), Settings("torch")).fingerprint is not None


@pytest.mark.parametrize("value, named", [(1.53, True), (1.54, False), (1.472, True), (1.47, False)])
def test_a_bug_is_shared_within_a_sixteenth_of_the_error(value, named):
    assert is_named(1.5, [(value, 10)]) is named


@pytest.mark.parametrize("bug, ulp, named", [(30, 34, True), (30, 35, False), (12, 16, True), (11, 15, False)])
def test_a_small_error_is_shared_within_4_ulp_and_a_quarter_of_it(bug, ulp, named):
    assert is_named(1 + bug * ULP, [(1 + ulp * ULP, 10)]) is named


@pytest.mark.parametrize(
    "shares, named", [([9], True), ([8], False), ([10, 8], True), ([10] * 6 + [5], True), ([10] * 6 + [4], False)]
)
def test_a_bug_explains_nine_tenths_of_the_wrong_elements_and_half_of_those_of_each_call(shares, named):
    assert is_named(2.0, *([(2.0, share), (5.0, 10 - share)] for share in shares)) is named


@pytest.mark.parametrize(
    "value, how, named",
    [
        (1 + 64 * ULP, {}, True),
        (1 + 65 * ULP, {}, False),
        (1.039, {"floor": 0.01}, True),
        (1.041, {"floor": 0.01}, False),
        (2.0, {"dtype": torch.float16}, True),
        (2.01, {"dtype": torch.float16}, False),
    ],
    ids=["64 ulp", "more", "4 times what is allowed", "more", "once the value in half precision", "more"],
)
def test_beside_gross_errors_what_may_be_rounding_does_not_hide_the_bug(value, how, named):
    assert is_named(NAN, [(NAN, 5), (value, 5)], **how) is named


def test_a_result_that_is_right_but_should_be_an_error_says_nothing_of_a_bug():
    bug, ones = 1 + 12 * ULP, torch.ones(10)
    results = iter([bug * ones, ones])
    record = replace(
        EXERCISES["silu_forward"],
        oracle=lambda x: x,
        peer=None,
        tolerance=Tolerance(1.0, 1.0, ""),
        cases=(
            Case("one", lambda generator: (ones,), ""),
            Case("bad", lambda generator: (ones,), "", raises=IndexError, repaired=lambda args: args),
        ),
        wild=(WildBug("them", "thread", lambda x: bug * x, "one", "story"),),
    )
    assert judge(record, Unwatched(lambda x: next(results)), Settings("torch")).fingerprint
