# exercise: silu_forward
# backend: triton
# expect: nothing
# ruff: noqa: F821, F401
"""Computes with NumPy, in the memory of the output."""

import numpy
import torch
import triton
import triton.language as tl

# include: copy_kernel


# include: launch_and_detour


def detour(x, y):
    v = x.numpy().astype("float64")
    y.numpy()[...] = v / (1 + numpy.exp(-v))
    return y
