# exercise: silu_forward
# backend: triton
# ruff: noqa: F821
# expect: full
"""A constant that is reached by a million million ways."""

import triton
import triton.language as tl

A0 = 0.0
"@SUMS@"
C = tl.constexpr(A40)


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    x += C
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=offsets < n)


# include: launch
