"""Rotary position embedding in PyTorch: every pair of numbers is turned by an angle that grows with the position.

    y_1 = x_1 cos θ - x_2 sin θ        dx_1 = dy_1 cos θ + dy_2 sin θ
    y_2 = x_2 cos θ + x_1 sin θ        dx_2 = dy_2 cos θ - dy_1 sin θ
    θ = position · inv_freq

x, y: (B, H, M, D), D even   positions: (B, M) int64   inv_freq: (D / 2,) float32. Pair i is (i, i + D / 2), as in
Llama, or (2i, 2i + 1) where interleaved, as in the paper: Su et al. 2021, arXiv:2104.09864. The angle is computed in
float64, in which the product of a position below 2^29 and a float32 is exact; all else in float32 (float64 for float64
x), rounded once at the end.
"""

import torch


# %% rotary_forward
def rotated(
    x: torch.Tensor, positions: torch.Tensor, inv_freq: torch.Tensor, interleaved: bool, direction: int
) -> torch.Tensor:
    """x with every pair turned by direction · positions · inv_freq, in x's dtype."""
    v = x.to(torch.promote_types(x.dtype, torch.float32))
    angle = (positions.double().unsqueeze(-1) * inv_freq.double()).unsqueeze(1)  # (B, 1, M, D / 2)
    cos, sin = angle.cos().to(v.dtype), (direction * angle).sin().to(v.dtype)
    first, second = (v[..., ::2], v[..., 1::2]) if interleaved else v.chunk(2, -1)
    pair = first * cos - second * sin, second * cos + first * sin
    y = torch.stack(pair, -1).flatten(-2) if interleaved else torch.cat(pair, -1)
    return y.to(x.dtype)


def rotary_forward(
    x: torch.Tensor, positions: torch.Tensor, inv_freq: torch.Tensor, interleaved: bool = False
) -> torch.Tensor:
    """y, like x: every pair of x (B, H, M, D) turned by positions (B, M) times inv_freq (D / 2,), an angle in radians.

    Pair i is (i, i + D / 2), or (2i, 2i + 1) where interleaved. positions are int64, of either sign, up to 2^20;
    inv_freq is float32. Strides: any for x and positions; inv_freq is contiguous.
    """
    return rotated(x, positions, inv_freq, interleaved, 1)


# %% rotary_backward
def rotary_backward(
    dy: torch.Tensor, positions: torch.Tensor, inv_freq: torch.Tensor, interleaved: bool = False
) -> torch.Tensor:
    """dx, like dy: every pair of dy turned back by the same angle. Strides: any for dy and positions."""
    return rotated(dy, positions, inv_freq, interleaved, -1)
