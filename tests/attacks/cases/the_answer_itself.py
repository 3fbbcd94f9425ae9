# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: refused
"""Calls the operator that is the answer."""

import torch


def silu_backward(dy, x):
    return torch.ops.aten.silu_backward(dy, x)
