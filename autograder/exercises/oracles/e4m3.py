"""Rounding to float8 e4m3 in float64, without anybody's cast: Micikevicius et al. 2022, arXiv:2209.05433.

Three bits behind the point, the smallest normal number 2^-6, the largest number 448; no infinity.
"""

import torch
from torch import Tensor

LARGEST = 448.0
NEAR_A_TIE = 2.0**-9  # of a step: what another order of division in float32 moves


def step(y: Tensor) -> Tensor:
    """The distance between neighbours around each number (float64): 2^(⌊log2 |y|⌋ - 3), and 2^-9 below 2^-6."""
    exponent = torch.frexp(y.nan_to_num(0)).exponent - 1
    return torch.ldexp(torch.ones_like(y), exponent.clamp(min=-6) - 3)


def nearest(y: Tensor) -> Tensor:
    """Each number of |y| <= 448 to the nearest, ties to even; NaN stays NaN, and 0 has the sign of y."""
    size = step(y)
    return (torch.round(y / size) * size).copysign(y)


def tie(y: Tensor) -> Tensor:
    """The distance to the other neighbour and a quarter of it more, where y lies so near to the middle of two that
    rounding decides between them; 0 elsewhere.
    """
    size = step(y)
    off = ((y / size).abs() % 1 - 0.5).abs()
    return torch.where(off <= NEAR_A_TIE, 1.25 * size, 0.0)
