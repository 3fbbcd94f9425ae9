"""The weight of a row is indexed with the offsets of the whole matrix."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "out-of-bounds", r"loads w_ptr out of bounds in program \(1, 0, 0\).*offset 16, 1 element past the end"


@triton.jit
def scale(x_ptr, w_ptr, y_ptr, N: tl.constexpr):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets) * tl.load(w_ptr + offsets))


def run():
    x, w = torch.arange(64.0).reshape(4, 16), torch.ones(64)[:16]
    y = torch.empty_like(x)
    scale[(4,)](x, w, y, N=16)
    return y


def expected():
    return torch.arange(64.0).reshape(4, 16)
