# exercise: silu_forward
# backend: triton
# expect: less
# ruff: noqa: F821
"""Options of a launch that exclude each other leave no GPU for which it is compiled, and no GPU takes the kernel."""

import torch
import triton
import triton.language as tl

SCALE = 1.0


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32) * SCALE
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=offsets < n)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        grid = (triton.cdiv(x.numel(), 128),)
        kernel[grid](x, y, x.numel(), BLOCK=128, num_warps=32, waves_per_eu=1)
    return y
