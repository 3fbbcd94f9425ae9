"""A gather by label meets ignore_index: offset -100 lies before the row."""

import torch
import triton
import triton.language as tl

KIND, SAYS = (
    "out-of-bounds",
    r"loads x_ptr out of bounds in program \(0, 0, 0\).*offset -100, 100 elements before the start",
)


@triton.jit
def pick(x_ptr, labels_ptr, y_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels_ptr + row)
    x = tl.load(x_ptr + row * N + label)
    tl.store(y_ptr + row, tl.where(label == -100, 0.0, x))


def run():
    x = torch.arange(1000.0)[936:].reshape(4, 16)
    y = torch.empty(4)
    pick[(4,)](x, torch.tensor([-100, 3, -100, 5]), y, N=16)
    return y


def expected():
    return torch.tensor([0.0, 955.0, 0.0, 989.0])
