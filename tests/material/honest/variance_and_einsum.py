# exercise: layer_norm_backward
# backend: torch
"""Sums with einsum and addcmul, and does not need the saved standard deviation."""

import torch


def layer_norm_backward(dy, x, weight, mean, rstd):
    v, up = x.float(), dy.float()
    normal = torch.addcmul(-mean[:, None] * rstd[:, None], v, rstd[:, None])
    g = torch.einsum("mn,n->mn", up, weight.float())
    inner = torch.einsum("mn,mn->m", g, normal) / x.shape[1]
    dx = rstd[:, None] * (g - g.mean(1, keepdim=True) - normal * inner[:, None])
    dweight = torch.einsum("mn,mn->n", up, normal)
    return dx.to(x.dtype), dweight.to(weight.dtype), up.sum(0).to(weight.dtype)
