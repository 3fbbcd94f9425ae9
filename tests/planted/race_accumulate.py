"""Every program adds to one element with a load and a store instead of an atomic."""

import torch
import triton
import triton.language as tl

KIND, SAYS = (
    "race-read",
    r"Program \(1, 0, 0\) of `total` loads element offset 0 of y_ptr, which program \(0, 0, 0\) stored",
)


@triton.jit
def total(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr, tl.load(y_ptr) + tl.sum(x))


def run():
    y = torch.zeros(1)
    total[(2,)](torch.arange(128.0), y, BLOCK=64)
    return y


def expected():
    return torch.tensor([8128.0])
