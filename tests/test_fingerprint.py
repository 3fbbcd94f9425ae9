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
