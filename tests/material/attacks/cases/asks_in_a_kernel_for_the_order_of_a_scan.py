# exercise: silu_forward
# backend: triton
# expect: less
"""Right only where a scan by a function that is not associative goes from left to right."""

import torch
import triton
import triton.language as tl


@triton.jit
def twice_plus(a, b):
    return 2 * a + b


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    ones = tl.full((8,), 1.0, tl.float32)
    last = tl.sum(tl.where(tl.arange(0, 8) == 7, tl.associative_scan(ones, 0, twice_plus), 0))
    right = last == 255
    y = tl.where(right, x * tl.sigmoid(x), 0)
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=offsets < n)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
