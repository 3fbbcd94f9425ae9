"""The maximum of negative numbers, padded with 0."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "wrong-value", ""


@triton.jit
def largest(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y_ptr, tl.max(tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)))


def run():
    y = torch.empty(1)
    largest[(1,)](-1 - torch.arange(100.0), y, 100, BLOCK=128)
    return y


def expected():
    return torch.tensor([-1.0])
