"""A tensor descriptor made with more rows than the tensor has."""

import torch
import triton
import triton.language as tl

KIND, SAYS = (
    "out-of-bounds",
    r"in program \(2, 0, 0\).*Make the descriptor with the tensor's own shape",
)


@triton.jit
def double(x_ptr, y_ptr, rows, COLUMNS: tl.constexpr, R: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [24, COLUMNS], [COLUMNS, 1], [R, COLUMNS])
    y = tl.make_tensor_descriptor(y_ptr, [rows, COLUMNS], [COLUMNS, 1], [R, COLUMNS])
    row = tl.program_id(0) * R
    y.store([row, 0], 2 * x.load([row, 0]))


def run():
    x = torch.arange(20.0 * 16).reshape(20, 16)
    y = torch.empty_like(x)
    double[(3,)](x, y, 20, COLUMNS=16, R=8)
    return y


def expected():
    return 2 * torch.arange(20.0 * 16).reshape(20, 16)
