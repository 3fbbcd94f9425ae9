# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: refused
"""The composition of basic operators that PyTorch has for its compiler, taken from its table."""

import torch
from torch._decomp import decomposition_table


def silu_backward(dy, x):
    composed = decomposition_table[torch.ops.aten.silu_backward.default]
    return composed(dy.float(), x.float()).to(x.dtype)
