# exercise: silu_forward
# backend: triton
"""The last block first, by integer arithmetic on program numbers."""

import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    offsets = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x_ptrs = x_ptr + offsets
    inside = (offsets >= 0) & (offsets < n)
    x = tl.load(x_ptrs, inside, 0.0).to(tl.float32)
    gate = 1.0 / (1.0 + tl.exp(-x))
    tl.store(y_ptr + offsets, (x * gate).to(y_ptr.dtype.element_ty), inside)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
