# exercise: silu_backward
# backend: torch
# expect: nothing
# limits: memory=300000000, seconds=10
"""Returns a tensor of one element that claims to be ten billion."""

import torch


def silu_backward(dy, x):
    return torch.zeros(1).expand(10_000_000_000)
