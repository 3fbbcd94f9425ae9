"""The padding lanes, loaded as 0, are counted in the variance: (0 - mean)^2 each."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "wrong-value", ""


@triton.jit
def variance(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    mean = tl.sum(x) / n
    tl.store(y_ptr, tl.sum((x - mean) * (x - mean)) / n)


def run():
    y = torch.empty(1)
    variance[(1,)](torch.arange(100.0), y, 100, BLOCK=128)
    return y


def expected():
    return torch.tensor([833.25])
