"""A program gives back the lock before it stores what the lock guards."""

import torch
import triton
import triton.language as tl

KIND, SAYS = (
    "race-read",
    r"loads element offset 0 of y_ptr, which program \(0, 0, 0\) stored.* had released the lock that orders the two",
)


@triton.jit
def total(x_ptr, y_ptr, lock_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    y = tl.load(y_ptr)
    tl.atomic_xchg(lock_ptr, 0)
    tl.store(y_ptr, y + tl.sum(x))


def run():
    y = torch.zeros(1)
    total[(2,)](torch.arange(128.0), y, torch.zeros(1, dtype=torch.int32), BLOCK=64)
    return y


def expected():
    return torch.tensor([8128.0])
