"""A grid of n // BLOCK programs: the tail is never written."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "unwritten", r"36 elements of the output \(100 in all\) were never written; the first is at index \(64,\)"


@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)


def run():
    x = torch.arange(100.0)
    y = torch.empty_like(x)
    double[(100 // 64,)](x, y, 100, BLOCK=64)
    return y


def expected():
    return 2 * torch.arange(100.0)
