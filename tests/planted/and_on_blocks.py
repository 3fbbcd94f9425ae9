"""mask = a and b on blocks: the interpreter keeps b alone; the compiler combines them. Here the bug is a wrong b."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "wrong-value", ""


@triton.jit
def band(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    inside = (x > 10) and (x < 6)
    tl.store(y_ptr + offsets, tl.where(inside, x, 0.0))


def run():
    y = torch.empty(8)
    band[(1,)](torch.arange(8.0), y, BLOCK=8)
    return y


def expected():
    return torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 0.0])
