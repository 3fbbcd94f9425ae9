"""SiLU in PyTorch.

    y  = x · s(x),   s(x) = 1 / (1 + e^-x)
    dx = dy · s(x) · (1 + x · s(-x))

Elementwise over any shape, in float32 (float64 for float64 input), rounded once at the end. Elfwing et al. 2017,
arXiv:1702.03118. Both use h = e^(-|x|/2), which never overflows, and whose square underflows only where the answer
does.
"""

import torch


# %% silu_forward
def silu_forward(x: torch.Tensor) -> torch.Tensor:
    """y = x · s(x), s(x) = 1 / (1 + e^-x), elementwise. Any shape, any floating dtype; y has the shape and dtype of x.

    Strides: any for x.
    """
    v = x.to(torch.promote_types(x.dtype, torch.float32))
    v = v.clamp(min=-1500)  # e^-1500 is 0 in every dtype: -inf would meet it as inf * 0
    h = torch.exp(-v.abs() / 2)
    tail = torch.where(v < 0, h, 1)  # s(x) = tail² / (1 + h²)
    return (v * tail * tail / (1 + h * h)).to(x.dtype)


# %% silu_backward
def silu_backward(dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """dx = dy · s(x) · (1 + x · s(-x)), s(x) = 1 / (1 + e^-x), elementwise. dy and x of one shape and dtype; dx too.

    Strides: any for dy and x.
    """
    v = x.to(torch.promote_types(x.dtype, torch.float32))
    v = v.clamp(-1500, 1500)
    h = torch.exp(-v.abs() / 2)
    tail = torch.where(v < 0, h, 1)  # s(x) = tail² / (1 + h²)
    other = torch.where(v < 0, 1, h * h) / (1 + h * h)  # s(-x), never as 1 - s(x), which cancels
    slope = tail * (1 + v * other) / (1 + h * h)  # without one tail, so as not to be subnormal before dy scales it
    return (dy * slope * tail).to(x.dtype)


# %% silu_witness
def silu_witness() -> tuple[torch.Tensor, torch.Tensor]:
    """(dy, x): two tensors of one shape, on which candle's gradient is off by more than what rounding in float32
    explains.
    At most 65,536 elements in all.
    """
    x = torch.tensor([0.0, -0.0, 1e-45, 1.0])  # exact zeros, and a number so small that y underflows
    return torch.full_like(x, -0.75), x
