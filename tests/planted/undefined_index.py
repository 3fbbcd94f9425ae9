"""An index from a masked load without other is used in a load without a mask."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "out-of-bounds", r"belongs to none of the launch's tensors.*masked load without `other`"


@triton.jit
def gather(x_ptr, index_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    index = tl.load(index_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, tl.load(x_ptr + index), mask=mask)


def run():
    y = torch.empty(6)
    gather[(1,)](torch.arange(8.0), torch.tensor([5, 4, 3, 2, 1, 0]), y, 6, BLOCK=8)
    return y


def expected():
    return torch.arange(5.0, -1.0, -1.0)
