"""A dictionary in a kernel: the interpreter runs it, a GPU compiler refuses it."""

import torch
import triton
import triton.language as tl

KIND, SAYS = (
    "unsupported",
    r"The kernel does not compile for a GPU, line \d+, `factors = .*Dict is Python that Triton cannot compile",
)


@triton.jit
def scale(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    factors = {"two": 2.0}
    tl.store(y_ptr + offsets, factors["two"] * tl.load(x_ptr + offsets))


def run():
    y = torch.empty(32)
    scale[(1,)](torch.arange(32.0), y, BLOCK=32)
    return y


def expected():
    return 2 * torch.arange(32.0)
