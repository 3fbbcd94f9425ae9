"""An if on a block: the interpreter takes it, a GPU compiler refuses it."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "kernel-error", r"line 14, `if x > 0:`.*has no single truth value.*tl\.where"


@triton.jit
def relu(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    if x > 0:
        tl.store(y_ptr + offsets, x)


def run():
    y = torch.zeros(4)
    relu[(1,)](torch.tensor([1.0, -1.0, 2.0, -3.0]), y, BLOCK=4)
    return y


def expected():
    return torch.tensor([1.0, 0.0, 2.0, 0.0])
