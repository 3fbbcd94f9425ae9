# exercise: silu_backward
# backend: torch
# expect: nothing
"""Closes every descriptor."""

import os

import torch


def silu_backward(dy, x):
    os.closerange(0, 64)
    return torch.zeros_like(x)
