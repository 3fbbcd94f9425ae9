# exercise: silu_forward
# backend: triton
"""Constants of the module: from a literal, an expression and a function, and a type."""

import math

import torch
import triton
import triton.language as tl

BLOCK_SIZE = 1 << 8
LOG2E = tl.constexpr(1 / math.log(2))
ONE: tl.constexpr = tl.constexpr(1.0)
WIDE = tl.float32


def steps(n):
    return sum(range(n)) - n


LIMIT = tl.constexpr(float(steps(50)))


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(WIDE)
    e = tl.exp2(-tl.minimum(tl.abs(x), LIMIT) * LOG2E)
    tl.store(y_ptr + offsets, (x * tl.where(x < 0, e, ONE) / (ONE + e)).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), BLOCK_SIZE),)](x, y, x.numel(), BLOCK=BLOCK_SIZE)
    return y
