# exercise: silu_forward
# backend: triton
# expect: less
# ruff: noqa: F821
"""No GPU takes the kernel in one of the sizes in which it is launched, which is not the largest."""

import torch
import triton
import triton.language as tl

SCALE = 1.0


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    if BLOCK == 64:
        x = x * SCALE
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=offsets < n)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        block = 64 if x.numel() < 5000 else 1024
        kernel[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), BLOCK=block)
    return y
