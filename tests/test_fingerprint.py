"""Whose bug an answer is not. That every wild bug is named is proven where the exercises are."""

import math

import torch
from graded_kernels.autograder import check


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
