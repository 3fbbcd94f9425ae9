# exercise: silu_forward
# backend: triton
# expect: nothing
# ruff: noqa: F821, F401
"""Computes in Python, and hands the results over as constants, one allowed fill for each element."""

import math

import torch
import triton
import triton.language as tl

# include: copy_kernel


# include: launch_and_detour


def detour(x, y):
    flat = y.view(-1)
    for i, v in enumerate(x.numpy().reshape(-1)[:2000]):
        flat[i].fill_(v / (1 + math.exp(-float(v))))
    return y
