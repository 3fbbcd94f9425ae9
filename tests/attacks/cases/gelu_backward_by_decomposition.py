# exercise: gelu_backward
# backend: torch
# expect: nothing
# trouble: refused
"""The composition of basic operators that PyTorch has for its compiler."""

from torch._decomp.decompositions import gelu_backward as composed


def gelu_backward(dy, x, approximate="none"):
    return composed(dy.float(), x.float(), approximate).to(x.dtype)
