# exercise: silu_forward
# backend: triton
# expect: nothing
"""A kernel that calls a Python function, which computes with PyTorch. The interpreter allows it."""

import torch
import triton
import triton.language as tl
from torch.utils._python_dispatch import _disable_current_modes

shared = {}


def compute():
    with _disable_current_modes():
        shared["y"].copy_(shared["x"].float() * torch.sigmoid(shared["x"].float()))


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)
    compute()


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    shared.update(x=x, y=y)
    if x.numel():
        kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
