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
    assert not report.passed and report.fingerprint is None


def test_rounding_next_to_a_zero_of_the_result_does_not_hide_the_bug():
    """Where silu' is 0 a rounding is hundreds of ulp; candle's NaN at 0 tells whose bug it is, with every seed."""

    def divides_back(dy, x):
        y = x * torch.sigmoid(x)
        s = y / x
        return dy * (s * (1 + x * (1 - s)))

    for seed in (1397871144, 785310972, 1089709946, 516819858, 752002365):
        report = check("silu_backward", divides_back, backend="torch", seed=seed)
        assert report.fingerprint and "candle" in report.fingerprint, f"seed {seed}"
