# exercise: silu_forward
# backend: triton
# expect: less
# ruff: noqa: F821
"""A tuple among the arguments: the compiler report cannot describe the launch, and the kernel is none of a GPU's."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, pair, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    if n < 0:
        x += tl.sum(tl.arange(0, 100))
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=offsets < n)


@triton.jit
def harmless(x_ptr):
    tl.load(x_ptr)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        harmless[(1,)](x)
        kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), (1, 2), BLOCK=128)
    return y
