# exercise: silu_backward
# backend: torch
"""In-place operators on tensors of its own, out= arguments, no_grad, more threads than there are."""

import torch

torch.set_num_threads(4)


@torch.no_grad()
def silu_backward(dy, x):
    v = x.to(torch.float64, copy=True)
    s = torch.empty_like(v)
    torch.sigmoid(v, out=s)
    slope = v.mul_(1 - s).add_(1).mul_(s)
    return torch.mul(dy.double(), slope).to(x.dtype)
