"""No rows, one program, no mask: it reads from a tensor that has no memory."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "out-of-bounds", r"loads x_ptr out of bounds.*the tensor is empty, shape \(0,\)"


@triton.jit
def double(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets))


def run():
    x = torch.empty(0)
    y = torch.empty(0)
    double[(1,)](x, y, BLOCK=16)
    return y


def expected():
    return torch.empty(0)
