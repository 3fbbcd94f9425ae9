"""A loop over rows that stops one early: the last row of the output keeps what was in memory."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "unwritten", r"32 elements of the output \(256 in all\) were never written; the first is at index \(7, 0\)"


@triton.jit
def double(x_ptr, y_ptr, rows, N: tl.constexpr):
    columns = tl.arange(0, N)
    for row in range(rows - 1):
        tl.store(y_ptr + row * N + columns, 2 * tl.load(x_ptr + row * N + columns))


def run():
    x = torch.arange(256.0).reshape(8, 32)
    y = torch.empty_like(x)
    double[(1,)](x, y, 8, N=32)
    return y


def expected():
    return 2 * torch.arange(256.0).reshape(8, 32)
