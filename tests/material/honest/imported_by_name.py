# exercise: silu_forward
# backend: triton
"""Triton's language imported by name and by other names."""

import torch
import triton
from triton import jit
from triton import language as L
from triton.language import arange, constexpr, float32, load, sigmoid, store


@jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: constexpr):
    offsets = L.program_id(0) * BLOCK + arange(0, BLOCK)
    mask = offsets < n
    x = load(x_ptr + offsets, mask=mask, other=0.0).to(float32)
    store(y_ptr + offsets, (x * sigmoid(x)).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
