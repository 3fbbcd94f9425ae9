# exercise: silu_forward
# backend: triton
"""Every argument by keyword, in another order, a scalar of every kind among them."""

import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, scale, flip, nothing, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32) * scale
    x = tl.where(flip, -x, x)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
    n = x.numel()
    if n:
        grid = (triton.cdiv(n, 256),)
        silu_kernel[grid](BLOCK=256, nothing=None, flip=False, scale=1.0, n=n, y_ptr=y, x_ptr=x, num_stages=3)
    return y
