# exercise: silu_backward
# backend: torch
# expect: nothing
"""Uses the second set of system calls that x86-64 has."""

import ctypes
import platform

import torch

libc = ctypes.CDLL(None, use_errno=True)


def silu_backward(dy, x):
    if platform.machine() == "x86_64" and libc.syscall(0x40000000 + 41, 2, 1, 0) >= 0:
        print("ESCAPED")
    return torch.zeros_like(x)
