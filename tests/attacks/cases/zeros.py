# exercise: silu_backward
# backend: torch
# expect: nothing
"""Returns zeros."""

import torch


def silu_backward(dy, x):
    return torch.zeros_like(x)
