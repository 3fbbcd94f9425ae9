# exercise: silu_forward
# backend: triton
# expect: nothing
# ruff: noqa: F821, F401
"""The text of a type, put together where the kernel is replayed, is evaluated there and brings NumPy along."""

import torch
import triton
import triton.language as tl

CODE = "__import__('numpy')"


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.str_to_ty(f"tensordesc<fp32[16],{CODE}", None)
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=offsets < n)


# include: launch
