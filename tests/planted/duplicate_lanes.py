"""Offsets taken modulo the size: several lanes of one store meet in one element."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "store-conflict", r"from several lanes with different values"


@triton.jit
def scatter(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets % n, tl.load(x_ptr + offsets))


def run():
    y = torch.empty(24)
    scatter[(1,)](torch.arange(32.0), y, 24, BLOCK=32)
    return y


def expected():
    return torch.arange(24.0)
