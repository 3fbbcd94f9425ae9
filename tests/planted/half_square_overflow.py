"""Squares in float16 overflow at 256, before the sum is divided."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "wrong-value", ""


@triton.jit
def mean_square(x_ptr, y_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(y_ptr, (tl.sum(x * x) / N).to(tl.float32))


def run():
    y = torch.empty(1)
    mean_square[(1,)](torch.full((16,), 300.0, dtype=torch.float16), y, N=16)
    return y


def expected():
    return torch.tensor([90000.0])
