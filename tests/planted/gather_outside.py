"""An index past the end of the block that tl.gather takes from."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "gathered-outside", r"`tl.gather` takes index 64 of a block of 64, line \d+, "


@triton.jit
def shift(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.gather(tl.load(x_ptr + i), i + 1, 0))


def run():
    x = torch.arange(64.0)
    y = torch.empty_like(x)
    shift[(1,)](x, y, N=64)
    return y


def expected():
    return torch.arange(64.0).roll(-1)
