# exercise: silu_forward
# backend: triton
# expect: nothing
"""Looks at the numbers outside of the kernels, and hands one of them to the kernel."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, first, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    wrong = tl.where(tl.load(x_ptr).to(tl.float32) == first, 0.0, 1.0)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x) + wrong).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        first = float(x.cpu().numpy().reshape(-1)[0])
        kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), first, BLOCK=128)
    return y
