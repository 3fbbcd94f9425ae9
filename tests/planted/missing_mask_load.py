"""A load without a mask: the last block reads past the end, and the right answer comes out all the same."""

import torch
import triton
import triton.language as tl

KIND, SAYS = (
    "out-of-bounds",
    r"loads x_ptr out of bounds in program \(1, 0, 0\).*offset 100, 1 element past the end.*has no mask",
)


@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, 2 * x, mask=offsets < n)


def run():
    x = torch.arange(100.0)
    y = torch.empty_like(x)
    double[(2,)](x, y, 100, BLOCK=64)
    return y


def expected():
    return 2 * torch.arange(100.0)
