"""The input is a slice of wider rows; the kernel walks it as if it were contiguous."""

import torch
import triton
import triton.language as tl

KIND, SAYS = (
    "out-of-bounds",
    r"loads x_ptr.*offset 6 lies between the elements of this view of shape \(4, 6\) and stride \(8, 1\).*strides",
)


@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)


def run():
    x = torch.arange(32.0).reshape(4, 8)[:, :6]
    y = torch.empty(4, 6)
    double[(1,)](x, y, 24, BLOCK=32)
    return y


def expected():
    return 2 * torch.arange(32.0).reshape(4, 8)[:, :6]
