# exercise: silu_forward
# backend: triton
# expect: nothing
# slow: yes
# limits: seconds=30, total_seconds=60
"""Computes in Python, and hands the results to a kernel as arguments."""

import math

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(y_ptr, at, value):
    tl.store(y_ptr + at, value)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    for i, v in enumerate(x.numpy().reshape(-1)[:2000]):
        kernel[(1,)](y, i, float(v / (1 + math.exp(-float(v)))))
    return y
