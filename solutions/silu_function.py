"""SiLU as one operation of PyTorch's graph: a forward and a backward that are given, in a `torch.autograd.Function`.

    y = silu_forward(x),   dx = silu_backward(dy, x)

Elementwise over any shape. x alone is saved. PyTorch differentiates nothing here: it calls backward with what arrives
from above, and hands on what that returns.
"""

import torch

from .silu import silu_backward, silu_forward


# %% silu_function
class SiLU(torch.autograd.Function):
    """What forward computes, and what its gradient is."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return silu_forward(x)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return silu_backward(dy, x)


def silu_function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """silu_forward(x), whose gradient is silu_backward of what arrives from above. Any shape and strides."""
    return SiLU.apply(x)
