# exercise: silu_forward
# backend: triton
# expect: nothing
# trouble: finding
# ruff: noqa: F821
"""Reads and writes past the end, which the plain interpreter does not notice."""

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets).to(tl.float32)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty))


# include: launch
