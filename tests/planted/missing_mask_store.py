"""A store without a mask: it overwrites whatever lies behind the output."""

import torch
import triton
import triton.language as tl

KIND, SAYS = (
    "out-of-bounds",
    r"stores to y_ptr out of bounds.*offset 100, 1 element past the end.*28 lanes.*store has no mask",
)


@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, 2 * x)


def run():
    x = torch.arange(100.0)
    y = torch.empty(128)[:100]
    double[(2,)](x, y, 100, BLOCK=64)
    return y


def expected():
    return 2 * torch.arange(100.0)
