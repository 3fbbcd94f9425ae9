# exercise: silu_forward
# backend: torch
# expect: nothing
# trouble: refused
"""The composition of basic operators that PyTorch has for its compiler."""

from torch._decomp.decompositions import silu


def silu_forward(x):
    return silu(x)
