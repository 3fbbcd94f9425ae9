# exercise: silu_forward
# backend: triton
"""Options in the decorator decide how an argument of 1 is launched."""

import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["one"])
def silu_kernel(x_ptr, y_ptr, n, one, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x) * one).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), 1, BLOCK=256)
    return y
