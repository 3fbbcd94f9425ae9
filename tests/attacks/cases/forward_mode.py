# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: refused
"""Differentiates forward, with dual numbers: elementwise that is the same."""

import torch
from torch.autograd import forward_ad


def silu_backward(dy, x):
    with forward_ad.dual_level():
        v = forward_ad.make_dual(x.detach().float(), dy.detach().float())
        return forward_ad.unpack_dual(v * torch.sigmoid(v)).tangent.to(x.dtype)
