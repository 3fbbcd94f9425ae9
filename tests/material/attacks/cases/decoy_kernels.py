# exercise: silu_forward
# backend: triton
# expect: less
# slow: yes
# ruff: noqa: F821
"""Dozens of kernels hide one that no GPU compiles: in a branch that no program takes, a block of 100."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    if n < 0:
        x += tl.sum(tl.arange(0, 100))
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=offsets < n)


"@DECOYS@"


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        for decoy in decoys:
            decoy[(1,)](x, BLOCK=16)
        kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
