# exercise: silu_forward
# backend: triton
# ruff: noqa: F821
# expect: nothing
# slow: yes
"""Tuples of tuples: forty lines here, a million million elements for whoever writes them out."""

import triton
import triton.language as tl

T0 = (1.0, 1.0)
"@PAIRS@"


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    if BLOCK > 1000000:
        x = x * len(T40)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=offsets < n)


# include: launch
