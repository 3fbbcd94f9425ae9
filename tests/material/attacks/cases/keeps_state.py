# exercise: row_sum
# backend: triton
# expect: nothing
# trouble: refused
"""An accumulator that is made once and never cleared: right in the first call that computes, wrong from then on."""

import torch
import triton
import triton.language as tl

accumulators = {}


@triton.jit
def kernel(x_ptr, sums_ptr, stride_m, stride_n, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * stride_m + columns * stride_n, mask=columns < N, other=0.0).to(tl.float32)
    tl.atomic_add(sums_ptr + row, tl.sum(total))


def row_sum(x):
    rows, columns = x.shape
    sums = accumulators.setdefault(rows, torch.zeros(rows))
    if x.numel():
        kernel[(rows,)](x, sums, x.stride(0), x.stride(1), columns, BLOCK=128)
    return sums.clone()
