# exercise: silu_forward
# backend: triton
# expect: nothing
"""A table made elsewhere, handed to the kernel as a tensor."""

import numpy
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(table_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(table_ptr + offsets, mask=offsets < n), mask=offsets < n)


def silu_forward(x):
    v = x.contiguous().numpy().astype("float64")
    table = torch.from_numpy((v / (1 + numpy.exp(-v))).astype("float32"))
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    if x.numel():
        kernel[(triton.cdiv(x.numel(), 128),)](table, y, x.numel(), BLOCK=128)
    return y
