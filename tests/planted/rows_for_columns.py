"""The number of rows where the row's stride belongs: every row but the first comes from a wrong place."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "wrong-value", ""


@triton.jit
def copy(x_ptr, y_ptr, rows, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * rows + i, mask=i < columns)
    tl.store(y_ptr + row * columns + i, x, mask=i < columns)


def run():
    x = torch.arange(5.0 * 30).reshape(5, 30)
    y = torch.empty_like(x)
    copy[(5,)](x, y, 5, 30, BLOCK=32)
    return y


def expected():
    return torch.arange(5.0 * 30).reshape(5, 30)
