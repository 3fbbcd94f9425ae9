# exercise: silu_backward
# backend: torch
# expect: less
"""Is right the first time it is called."""

import torch

calls = []


def silu_backward(dy, x):
    calls.append(1)
    v = x.float()
    s = torch.sigmoid(v)
    return (dy.float() * s * (1 + v * (1 - s))).to(x.dtype) * (len(calls) == 1)
