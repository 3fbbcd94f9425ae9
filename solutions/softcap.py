"""The soft cap of a logit in PyTorch: y = cap · tanh(x / cap), Gemma 2 (arXiv:2408.00118)."""

import torch


# %% softcap_forward
def softcap_forward(x: torch.Tensor, cap: float = 30.0) -> torch.Tensor:
    """y = cap · tanh(x / cap), elementwise. Any shape, any floating dtype; y has the shape and dtype of x.

    Strides: any for x.
    """
    v = x.to(torch.promote_types(x.dtype, torch.float32))
    t = v / cap
    near = v - v * t * t / 3  # of a subnormal v, t has no digit left
    return torch.where(t.abs() < 1e-3, near, cap * torch.tanh(t)).to(x.dtype)


# %% softcap_backward
def softcap_backward(dy: torch.Tensor, x: torch.Tensor, cap: float = 30.0) -> torch.Tensor:
    """dx = dy / cosh²(x / cap), elementwise. dy and x of one shape and dtype; dx too.

    Strides: any for dy and x.
    """
    v = x.to(torch.promote_types(x.dtype, torch.float32))
    e = torch.exp(-2 * (v / cap).abs())
    return (dy * (4 * e / ((1 + e) * (1 + e)))).to(x.dtype)  # 1 - tanh² would cancel
