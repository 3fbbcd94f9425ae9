# exercise: silu_backward
# backend: torch
"""A TorchScript function."""

import torch


@torch.jit.script
def formula(dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    v = x.to(torch.float32)
    s = 1 / (1 + torch.exp(-v))
    return (dy.to(torch.float32) * s * (1 + v * (1 - s))).to(x.dtype)


def silu_backward(dy, x):
    return formula(dy, x)
