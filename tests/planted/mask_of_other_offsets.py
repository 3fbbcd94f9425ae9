"""A mask that asks whether the place in the block is below n, and not whether the element is: it lets every lane on."""

import torch
import triton
import triton.language as tl

KIND, SAYS = (
    "out-of-bounds",
    r"in program \(1, 0, 0\).*The load's mask lets this lane through",
)


@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    offsets = tl.program_id(0) * BLOCK + lanes
    mask = lanes < n
    tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)


def run():
    x = torch.arange(100.0)
    y = torch.empty_like(x)
    double[(2,)](x, y, 100, BLOCK=64)
    return y


def expected():
    return 2 * torch.arange(100.0)
