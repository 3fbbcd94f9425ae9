# exercise: silu_forward
# backend: triton
# expect: nothing
# ruff: noqa: F821, F401
"""The same, written into the tensor that the kernel wrote."""

import torch
import triton
import triton.language as tl
from torch.utils._python_dispatch import _disable_current_modes

# include: copy_kernel


# include: launch_and_detour


def detour(x, y):
    with _disable_current_modes():
        y.copy_(x.float() * torch.sigmoid(x.float()))
    return y
