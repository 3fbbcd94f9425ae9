"""GELU in PyTorch, in both of its forms.

    y  = x · F(x),   dx = dy · (F(x) + x · F'(x))

    approximate="none":  F(x) = Φ(x) = erfc(-x / √2) / 2, the normal distribution
    approximate="tanh":  F(x) = s(2u),  u = √(2/π) · (x + 0.044715 x³),  s(z) = 1 / (1 + e^-z)

0.5 · (1 + tanh(u)) is s(2u). Elementwise over any shape, in float32 (float64 for float64 input), rounded once at the
end. Hendrycks and Gimpel 2016, arXiv:1606.08415. F(x) is small for x < 0, and no sum 1 + erf or 1 + tanh finds it
there; F(-x) = 1 - F(x) serves the other side.
"""

import math

import torch


# %% gelu_forward
def gelu_tail(t: torch.Tensor, approximate: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(h, share, bend) at t >= 0, with F(-t) = h² · share and t · F'(t) = h² · bend; h² underflows only where F does.

    F(-t) holds a factor e^-w. A w of 100, rounded, is wrong in the sixth decimal and so would be e^-w: w is therefore
    had in two parts. ``near`` is t to a few bits, so that the first part, ``high``, is exact.
    """
    if approximate == "none":  # w = t² / 2
        near = (t * 16).floor() / 16
        high = near * near / 2
        low = (t - near) * (t + near) / 2
        share = torch.special.erfcx(t.double() / math.sqrt(2)).to(t.dtype) / 2  # e^w · Φ(-t); 8 ulp off in float32
        bend = t / math.sqrt(2 * math.pi)
    elif approximate == "tanh":  # w = 2u = t · (a + b t²), a and b in two parts too
        a = 2 * math.sqrt(2 / math.pi)
        b = 0.044715 * a
        near = (t * 32).round() / 32
        slope = 1.595703125 + 0.0712890625 * near * near  # exact: both constants have few bits
        short = (slope * 64).floor() / 64
        high = near * short
        rest = slope - short + (a - 1.595703125) + (b - 0.0712890625) * near * near
        low = near * rest + (t - near) * (a + b * (t * t + t * near + near * near))
        share = 1 / (1 + torch.exp(-high - low))
        bend = t * (a + 3 * b * t * t) * share * share
    else:
        raise ValueError(f"approximate is 'none' or 'tanh', not {approximate!r}")
    tilt = torch.exp(-low)
    return torch.exp(-high / 2), share * tilt, bend * tilt


def gelu_forward(x: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    """y = x · F(x), elementwise. Any shape, any floating dtype; y has the shape and dtype of x.

    approximate: "none" for the normal distribution itself, "tanh" for GPT-2's approximation. Strides: any for x.
    """
    v = x.to(torch.promote_types(x.dtype, torch.float32))
    v = v.clamp(min=-40)  # F(-40) is 0 in every dtype: -inf would meet it as inf * 0
    h, share, _ = gelu_tail(v.abs().clamp(max=40), approximate)
    y = torch.where(v < 0, v * share * h * h, v * (1 - share * h * h))
    return y.to(x.dtype)


# %% gelu_backward
def gelu_backward(dy: torch.Tensor, x: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    """dx = dy · (F(x) + x · F'(x)), elementwise. dy and x of one shape and dtype; dx too.

    Strides: any for dy and x.
    """
    v = x.to(torch.promote_types(x.dtype, torch.float32))
    h, share, bend = gelu_tail(v.abs().clamp(max=40), approximate)
    below = h * (share - bend)  # F(x) + x · F'(x) at -|x|, but for one h; the slopes at x and -x add up to 1
    slope = torch.where(v < 0, below, 1 - below * h)
    return (dy * slope * torch.where(v < 0, h, 1)).to(x.dtype)


# %% gelu_witness
def gelu_witness() -> tuple[torch.Tensor, str]:
    """(x, "tanh"), finite, on which tanh-GELU with 0.44715 is off by more than what rounding in float32 explains, and
    the right one is not.
    At most 65,536 elements in all.
    """
    return torch.tensor([-2.0, -1.0, 1.0, 2.0]), "tanh"  # near 0 x³ vanishes, and far out tanh is ±1 with any constant
