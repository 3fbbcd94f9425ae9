"""The output is a view of the input, shifted by one: programs read what others have overwritten."""

import torch
import triton
import triton.language as tl

KIND, SAYS = "race-read", r"loads element offset 32 of x_ptr, which program \(0, 0, 0\) stored"


@triton.jit
def double(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets))


def run():
    memory = torch.arange(65.0)
    double[(2,)](memory[:64], memory[1:], BLOCK=32)
    return memory[1:]


def expected():
    return 2 * torch.arange(64.0)
