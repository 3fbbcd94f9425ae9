"""Programs take the next free slot with an atomic: the result is in the order they happened to run."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "order", ""


@triton.jit
def compact(x_ptr, count_ptr, y_ptr):
    x = tl.load(x_ptr + tl.program_id(0))
    if x > 0:
        slot = tl.atomic_add(count_ptr, 1)
        tl.store(y_ptr + slot, x)


def run():
    x = torch.tensor([3.0, -1.0, 4.0, -1.0, 5.0, 9.0, -2.0, 6.0])
    y, count = torch.zeros(5), torch.zeros(1, dtype=torch.int32)
    compact[(8,)](x, count, y)
    return y


def expected():
    return torch.tensor([3.0, 4.0, 5.0, 9.0, 6.0])
