# exercise: silu_backward
# backend: torch
"""Compares with PyTorch's own function, and differentiates with it, before and after the answer is defined."""

from __future__ import annotations

import torch
import torch.nn.functional as F

x = torch.linspace(-4, 4, 9, requires_grad=True)
F.silu(x).sum().backward()
expected = x.grad


def sigmoid(x: torch.Tensor) -> torch.Tensor:
    return 1 / (1 + torch.exp(-x))


def silu_backward(dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    v = x.float()
    s = sigmoid(v)
    return (dy.float() * s * (1 + v * (1 - s))).to(x.dtype)


assert torch.allclose(silu_backward(torch.ones(9), x.detach()), expected)
