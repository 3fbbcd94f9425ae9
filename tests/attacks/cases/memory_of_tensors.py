# exercise: silu_backward
# backend: torch
# expect: nothing
# limits: memory=300000000, seconds=10
"""Allocates tensors until nothing is left."""

import torch

kept = []


def silu_backward(dy, x):
    while True:
        kept.append(torch.ones(10_000_000))
