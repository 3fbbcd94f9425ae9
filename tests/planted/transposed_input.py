"""The input is a transposed view: every offset is valid and every value in the wrong place."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "wrong-value", ""


@triton.jit
def double(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets))


def run():
    x = torch.arange(32.0).reshape(4, 8).t()
    y = torch.empty(8, 4)
    double[(1,)](x, y, BLOCK=32)
    return y


def expected():
    return 2 * torch.arange(32.0).reshape(4, 8).t()
