"""A kernel called without a grid, like a function."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "unsupported", r"`double` is a kernel, and line \d+, .* calls it like a function. Launch it on a grid"


@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


def run():
    x = torch.arange(100.0)
    y = torch.empty_like(x)
    double(x, y, 100, BLOCK=128)
    return y


def expected():
    return 2 * torch.arange(100.0)
