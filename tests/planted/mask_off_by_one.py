"""A mask with <= instead of <: one element too many."""

import torch
import triton
import triton.language as tl

KIND, SAYS = (
    "out-of-bounds",
    r"loads x_ptr out of bounds.*offset 100, 1 element past the end.*mask lets this lane through",
)


@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets <= n
    tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)


def run():
    x = torch.arange(128.0)[:100]
    y = torch.empty(128)[:100]
    double[(2,)](x, y, 100, BLOCK=64)
    return y


def expected():
    return 2 * torch.arange(100.0)
