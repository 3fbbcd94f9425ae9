"""A sum kept in bfloat16 stops growing at 256."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "wrong-value", ""


@triton.jit
def total(x_ptr, y_ptr, n):
    acc = tl.load(x_ptr)
    for i in range(1, n):
        acc += tl.load(x_ptr + i)
    tl.store(y_ptr, acc)


def run():
    y = torch.empty(1, dtype=torch.bfloat16)
    total[(1,)](torch.ones(300, dtype=torch.bfloat16), y, 300)
    return y


def expected():
    return torch.tensor([300.0], dtype=torch.bfloat16)
