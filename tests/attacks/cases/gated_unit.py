# exercise: silu_forward
# backend: torch
# expect: nothing
# trouble: refused
"""The gated linear unit of x and x is SiLU."""

import torch


def silu_forward(x):
    return torch.nn.functional.glu(torch.stack([x, x]), 0).squeeze(0)
