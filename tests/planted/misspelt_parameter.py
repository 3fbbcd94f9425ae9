"""A launch with a misspelt keyword: the interpreter drops it and the default takes its place."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "unsupported", r"`double` has no parameter `BLOK`"


@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr = 64):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)


def run():
    x = torch.arange(100.0)
    y = torch.empty_like(x)
    double[(2,)](x, y, 100, BLOK=64)
    return y


def expected():
    return 2 * torch.arange(100.0)
