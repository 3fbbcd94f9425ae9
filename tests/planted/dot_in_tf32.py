"""A tl.dot of float32 without input_precision: a recent GPU multiplies 11 of 24 bits, and a difference shows it."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "wrong-value", ""


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M: tl.constexpr):
    i = tl.arange(0, M)
    at = i[:, None] * M + i[None, :]
    tl.store(c_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))


def operands():
    a, b = torch.zeros(2, 16, 16)
    a[:, 0], a[:, 1], b[:2] = 1 + 2**-12, -1, 1
    return a, b


def run():
    a, b = operands()
    c = torch.empty(16, 16)
    matmul[(1,)](a, b, c, M=16)
    return c


def expected():
    a, b = operands()
    return a @ b
