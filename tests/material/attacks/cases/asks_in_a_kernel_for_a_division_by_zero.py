# exercise: silu_forward
# backend: triton
# expect: less
"""Right only where a whole number by zero is what Python or NumPy makes of it."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, zero, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    right = n // zero == 0
    y = tl.where(right, x * tl.sigmoid(x), 0)
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=offsets < n)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), 0, BLOCK=128)
    return y
