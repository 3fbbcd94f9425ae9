"""An in-place shift: a program overwrites what its neighbour still has to read."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "race-write", r"stores to element offset 32 of x_ptr, which program \(0, 0, 0\) loads in the same launch"


@triton.jit
def shift(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets + 1, mask=offsets + 1 < n, other=0.0)
    tl.store(x_ptr + offsets, x)


def run():
    x = torch.arange(64.0)
    shift[(2,)](x, 64, BLOCK=32)
    return x


def expected():
    return torch.cat([torch.arange(1.0, 64.0), torch.zeros(1)])
