"""tl.arange over 100 elements: blocks are powers of two."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "kernel-error", r"line 12, .*tl\.arange\(0, N\).*must be a power of 2"


@triton.jit
def double(x_ptr, y_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets))


def run():
    x = torch.arange(100.0)
    y = torch.empty_like(x)
    double[(1,)](x, y, N=100)
    return y


def expected():
    return 2 * torch.arange(100.0)
