"""An assertion that does not hold; the interpreter never asks it."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "kernel-error", r"line \d+, `tl.device_assert\(x > 0.*AssertionError: x is not positive"


@triton.jit
def logarithm(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.device_assert(x > 0, "x is not positive", mask=i < n)
    tl.store(y_ptr + i, tl.log(x), mask=i < n)


def run():
    x = torch.arange(50.0)
    y = torch.empty_like(x)
    logarithm[(1,)](x, y, 50, BLOCK=64)
    return y


def expected():
    return torch.arange(50.0).log()
