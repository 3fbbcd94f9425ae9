# exercise: silu_backward
# backend: torch
# expect: nothing
"""Returns one element and hopes that it is broadcast."""

import torch


def silu_backward(dy, x):
    return torch.zeros((), dtype=x.dtype)
