# exercise: silu_forward
# backend: triton
"""Views, reshapes and flattenings around the launch."""

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
    flat = x.reshape(-1).contiguous().unsqueeze(0).squeeze(0).detach()
    y = torch.empty_like(flat)
    if flat.numel():
        silu_kernel[(triton.cdiv(flat.numel(), 256),)](flat, y, flat.numel(), BLOCK=256)
    return y.view(x.shape)
