# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: refused
"""The gradient of the gated linear unit of x and x has SiLU's in two parts."""

import torch


def silu_backward(dy, x):
    halves = torch.ops.aten.glu_backward(dy.unsqueeze(0).float(), torch.stack([x, x]).float(), 0)
    return halves.sum(0).to(x.dtype)
