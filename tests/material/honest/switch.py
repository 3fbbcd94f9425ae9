# exercise: silu_forward
# backend: triton
"""A constexpr switch, static_range, static_assert and a default parameter."""

import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EXACT: tl.constexpr = True, PARTS: tl.constexpr = 2):
    tl.static_assert(BLOCK % PARTS == 0)
    size: tl.constexpr = BLOCK // PARTS  # once: a constexpr cannot be assigned again
    for part in tl.static_range(PARTS):
        offsets = tl.program_id(0) * BLOCK + part * size + tl.arange(0, size)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        if EXACT:
            y = x * tl.sigmoid(x)
        else:
            y = tl.maximum(x, 0.0)
        tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
