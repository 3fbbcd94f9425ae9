# exercise: silu_backward
# backend: torch
# expect: less
"""Adds noise within the tolerance, which hides a method that guesses."""

import torch


def silu_backward(dy, x):
    v = x.float()
    s = torch.sigmoid(v)
    return (dy.float() * s * (1 + v * (1 - s)) * (1 + 1e-7 * torch.rand_like(v))).to(x.dtype)
