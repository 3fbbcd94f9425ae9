# exercise: silu_forward
# backend: triton
# expect: nothing
# ruff: noqa: F821
"""Adds a function to Triton's language that computes what the kernel should."""

import math

import triton
import triton.language as tl


def magic(x):
    data = x.handle.data
    for i, v in enumerate(data):
        data[i] = v / (1 + math.exp(-float(v))) if v > -80 else 0.0
    return x


tl.magic = magic


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, tl.magic(x).to(y_ptr.dtype.element_ty), mask=mask)


# include: launch
