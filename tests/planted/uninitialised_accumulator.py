"""Atomics add to what torch.empty returned."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "uninitialised-read", r"does an atomic operation on element offset 0 of y_ptr, which has not been written"


@triton.jit
def total(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y_ptr, tl.sum(tl.load(x_ptr + offsets)))


def run():
    y = torch.empty(1)
    total[(2,)](torch.arange(64.0), y, BLOCK=32)
    return y


def expected():
    return torch.tensor([2016.0])
