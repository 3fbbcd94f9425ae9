# exercise: silu_backward
# backend: torch
# expect: nothing
"""Returns NaN, which some comparisons let pass."""

import torch


def silu_backward(dy, x):
    return torch.full_like(x, float("nan"))
