"""A stencil reads its left neighbour, and element 0 has none."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "out-of-bounds", r"loads x_ptr out of bounds in program \(0, 0, 0\).*offset -1, 1 element before the start"


@triton.jit
def difference(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x_ptr + offsets - 1)
    tl.store(y_ptr + offsets, tl.where(offsets > 0, tl.load(x_ptr + offsets) - left, 0.0))


def run():
    memory = torch.arange(65.0)
    y = torch.empty(64)
    difference[(2,)](memory[1:], y, BLOCK=32)
    return y


def expected():
    return torch.cat([torch.zeros(1), torch.ones(63)])
