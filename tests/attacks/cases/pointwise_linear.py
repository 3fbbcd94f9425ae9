# exercise: silu_forward
# backend: torch
# expect: nothing
# trouble: refused
"""A linear layer of one feature with its activation fused in."""

import torch


def silu_forward(x):
    column = x.reshape(-1, 1).float().contiguous()
    one = torch.ones(1, 1)
    return torch.ops.mkldnn._linear_pointwise(column, one, None, "swish", [], "").reshape(x.shape).to(x.dtype)
