"""Python's and does not protect a load: a GPU evaluates both sides."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "out-of-bounds", r"loads x_ptr out of bounds in program \(3, 0, 0\).*offset 3, 1 element past the end"


@triton.jit
def positive(x_ptr, y_ptr, n):
    row = tl.program_id(0)
    if row < n and tl.load(x_ptr + row) > 0:
        tl.store(y_ptr + row, 1.0)


def run():
    y = torch.zeros(3)
    positive[(4,)](torch.tensor([1.0, -1.0, 2.0, 5.0])[:3], y, 3)
    return y


def expected():
    return torch.tensor([1.0, 0.0, 1.0])
