"""A numpy array given to a kernel in the place of a tensor."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "unsupported", r"`x_ptr` of `double` is of type ndarray: a kernel takes tensors, numbers"


@triton.jit
def double(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i))


def run():
    x = torch.arange(64.0)
    y = torch.empty_like(x)
    double[(1,)](x.numpy(), y, N=64)
    return y


def expected():
    return 2 * torch.arange(64.0)
