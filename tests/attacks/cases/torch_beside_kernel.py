# exercise: silu_forward
# backend: triton
# expect: nothing
# trouble: refused
# ruff: noqa: F821, F401
"""Launches a kernel for show and computes with PyTorch."""

import torch
import triton
import triton.language as tl

# include: copy_kernel


# include: launch_and_detour


def detour(x, y):
    return x * torch.sigmoid(x)
