"""A masked load without other goes into a sum: a GPU promises nothing about the padding lanes."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "masked-load", r"loads x_ptr with a mask and no `other`"


@triton.jit
def total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr, tl.sum(x))


def run():
    y = torch.empty(1)
    total[(1,)](torch.arange(100.0), y, 100, BLOCK=128)
    return y


def expected():
    return torch.tensor([4950.0])
