"""The output is an expanded tensor: all its elements are one place in memory."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "out-of-bounds", r"stores to y_ptr out of bounds.*the only valid offset is 0.*stride \(0,\)"


@triton.jit
def double(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets))


def run():
    y = torch.empty(1).expand(32)
    double[(1,)](torch.arange(32.0), y, BLOCK=32)
    return y


def expected():
    return 2 * torch.arange(32.0)
