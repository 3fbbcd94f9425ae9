# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: refused
"""Lets PyTorch differentiate, where the derivative is the exercise."""

import torch


def silu_backward(dy, x):
    v = x.detach().clone().requires_grad_()
    (v * torch.sigmoid(v)).backward(dy)
    return v.grad
