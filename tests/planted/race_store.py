"""Every program stores its own sum to the same element."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "store-conflict", r"Two programs of `total` store different values to element offset 0 of y_ptr"


@triton.jit
def total(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr, tl.sum(tl.load(x_ptr + offsets)))


def run():
    y = torch.empty(1)
    total[(2,)](torch.arange(128.0), y, BLOCK=64)
    return y


def expected():
    return torch.tensor([8128.0])
