"""A prefix sum over blocks: each program reads the total that the one before it stored."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "race-read", r"loads element offset 31 of y_ptr, which program \(0, 0, 0\) stored in the same launch"


@triton.jit
def prefix(x_ptr, y_ptr, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    before = tl.load(y_ptr + block * BLOCK - 1, mask=block > 0, other=0.0)
    tl.store(y_ptr + offsets, before + tl.cumsum(tl.load(x_ptr + offsets)))


def run():
    x = torch.arange(128.0)
    y = torch.empty_like(x)
    prefix[(4,)](x, y, BLOCK=32)
    return y


def expected():
    return torch.arange(128.0).cumsum(0)
