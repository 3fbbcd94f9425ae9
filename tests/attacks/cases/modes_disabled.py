# exercise: silu_forward
# backend: triton
# expect: nothing
# ruff: noqa: F821, F401
"""Launches a kernel for show, switches the watch off and computes with PyTorch."""

import torch
import triton
import triton.language as tl
from torch.utils._python_dispatch import _disable_current_modes

# include: copy_kernel


# include: launch_and_detour


def detour(x, y):
    with _disable_current_modes():
        return (x.float() * torch.sigmoid(x.float())).to(x.dtype)
