"""70,000 programs along y: a GPU stops at 65,535."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "grid", r"The grid of `fill` is \(1, 70000, 1\); a GPU allows"


@triton.jit
def fill(y_ptr):
    tl.store(y_ptr + tl.program_id(1), 1.0)


def run():
    y = torch.empty(70000)
    fill[(1, 70000)](y)
    return y


def expected():
    return torch.ones(70000)
