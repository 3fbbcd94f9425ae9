# exercise: silu_forward
# backend: torch
# expect: nothing
"""Calls the operator that is the answer from TorchScript."""

import torch


@torch.jit.script
def silu(x):
    return torch.nn.functional.silu(x)


def silu_forward(x):
    return silu(x)
