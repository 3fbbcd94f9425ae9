# exercise: silu_forward
# backend: triton
"""A kernel that is given the function to apply."""

import torch
import triton
import triton.language as tl


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def map_kernel(x_ptr, y_ptr, n, function: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, function(x).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        map_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), silu, BLOCK=256)
    return y
