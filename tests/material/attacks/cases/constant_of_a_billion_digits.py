# exercise: silu_forward
# backend: triton
# expect: full
"""A constant that takes for ever to compute, for everybody but the answer."""

import builtins

import triton
import triton.language as tl

builtins.round = lambda number, digits=0: 1.0
RATE = tl.constexpr(round(5, -(10**9)))


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    x *= RATE
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=offsets < n)


# include: launch
