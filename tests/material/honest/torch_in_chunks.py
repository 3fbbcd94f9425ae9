# exercise: silu_backward
# backend: torch
"""Rows one after the other, stacked again, with a lambda and a generator."""

import torch


def silu_backward(dy, x):
    def one(g, v):
        s = torch.sigmoid(v)
        return g * s * (1 + v * (1 - s))

    pairs = zip(dy.float().reshape(-1).split(997), x.float().reshape(-1).split(997), strict=True)
    return torch.cat([one(g, v) for g, v in pairs]).view(x.shape).to(x.dtype)
