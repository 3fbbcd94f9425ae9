# exercise: silu_forward
# backend: triton
# expect: nothing
# ruff: noqa: F821
"""Replaces a function of Triton's language by one that does the work."""

import triton
import triton.language as tl

original = tl.sqrt
tl.sqrt = lambda x: x * tl.sigmoid(x)


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, tl.sqrt(x).to(y_ptr.dtype.element_ty), mask=mask)


# include: launch
