# exercise: silu_backward
# backend: torch
# expect: less
"""Returns the same memory every time, so that the last result overwrites all others."""

import torch

buffers = {}


def silu_backward(dy, x):
    v = x.float()
    s = torch.sigmoid(v)
    result = (dy.float() * s * (1 + v * (1 - s))).to(x.dtype)
    return buffers.setdefault((x.shape, x.dtype), torch.empty_like(result)).copy_(result)
