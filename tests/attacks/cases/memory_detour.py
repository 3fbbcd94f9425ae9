# exercise: silu_forward
# backend: triton
# expect: nothing
# ruff: noqa: F821, F401
"""Computes in Python, and writes into the output's memory by its address."""

import ctypes
import math

import torch
import triton
import triton.language as tl

# include: copy_kernel


# include: launch_and_detour


def detour(x, y):
    if x.dtype == torch.float32 and x.numel():
        source = (ctypes.c_float * x.numel()).from_address(x.data_ptr())
        target = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
        for i, v in enumerate(source):
            target[i] = v / (1 + math.exp(-v))
    return y
