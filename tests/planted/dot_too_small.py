"""A tl.dot over four columns: a GPU's matrix unit takes 16 at least."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "kernel-error", r"line 14, `product = tl\.dot\(.*K >= 16"


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M: tl.constexpr, K: tl.constexpr):
    m, k = tl.arange(0, M), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    product = tl.dot(a, tl.load(b_ptr + k[:, None] * M + m[None, :]))
    tl.store(c_ptr + m[:, None] * M + m[None, :], product)


def run():
    a, b = torch.ones(16, 4, dtype=torch.float16), torch.ones(4, 16, dtype=torch.float16)
    c = torch.empty(16, 16)
    matmul[(1,)](a, b, c, M=16, K=4)
    return c


def expected():
    return torch.full((16, 16), 4.0)
