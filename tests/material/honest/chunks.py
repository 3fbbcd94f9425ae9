# exercise: silu_forward
# backend: triton
"""The output in chunks, a launch for each, the last one shorter."""

import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    for source, target in zip(x.view(-1).split(700), y.view(-1).split(700), strict=True):
        if source.numel():
            silu_kernel[(triton.cdiv(source.numel(), 256),)](source, target, source.numel(), BLOCK=256)
    return y
