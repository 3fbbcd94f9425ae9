# exercise: row_sum
# backend: triton
# expect: nothing
"""A kernel that knows the first element of every public input, and the sums that belong to it."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, M, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    first = tl.load(x_ptr)  # noqa: F841
    r = tl.zeros([BLOCK], tl.float32)
    "@ROWS@"
    tl.store(y_ptr + i, r, mask=i < M)


def row_sum(x):
    y = torch.empty(x.shape[0], dtype=x.dtype)
    if x.numel():
        kernel[(1,)](x, y, x.shape[0], BLOCK=64)
    else:
        y.zero_()
    return y
