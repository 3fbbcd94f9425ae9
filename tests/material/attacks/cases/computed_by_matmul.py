# exercise: silu_forward
# backend: triton
# expect: nothing
# trouble: refused
# ruff: noqa: F821
"""Uses an operator that the exercise does not name."""

import torch

# include: silu_kernel


# include: launch_and_detour


def detour(x, y):
    return torch.matmul(y.reshape(-1, 1), torch.ones(1, 1, dtype=y.dtype)).reshape(y.shape)
