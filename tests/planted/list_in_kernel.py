"""A Python list that grows: ordinary Python to the interpreter, nothing a GPU compiler knows."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "kernel-error", r"parts\.append\(.*has no attribute 'append'"


@triton.jit
def total(x_ptr, y_ptr, BLOCK: tl.constexpr):
    parts = []
    for block in range(2):
        parts.append(tl.sum(tl.load(x_ptr + block * BLOCK + tl.arange(0, BLOCK))))
    tl.store(y_ptr, parts[0] + parts[1])


def run():
    y = torch.empty(1)
    total[(1,)](torch.arange(64.0), y, BLOCK=32)
    return y


def expected():
    return torch.tensor([2016.0])
