# exercise: silu_forward
# backend: triton
# expect: less
# case: every bfloat16 value
# ruff: noqa: F821
"""Converts its input to float64 where that is not float32, and so computes nothing in the cases that are hard."""

import torch

# include: silu_kernel


# include: launch
right = silu_forward


def silu_forward(x):
    return right(x if x.dtype == torch.float32 else x.to(torch.float64))
