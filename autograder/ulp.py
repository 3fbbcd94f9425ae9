"""Distances in units in the last place.

One ulp at a real number e is the gap between the two floating-point numbers around it: 2^(max(⌊log2 |e|⌋, emin) - p +
1), with p bits of precision and smallest normal exponent emin. Below the smallest normal the gap stays that of the
subnormals.
"""

import math

import torch

PRECISION = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53}  # p, the hidden bit counted


def ulp_size(expected: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The size of one ulp of ``dtype`` at every number of ``expected`` (float64). NaN and infinity give the largest
    ulp. An integer's is 1.
    """
    if not dtype.is_floating_point:
        return torch.ones_like(expected)
    info = torch.finfo(dtype)
    magnitude = expected.abs().nan_to_num(nan=info.max, posinf=info.max).clamp(info.smallest_normal, info.max)
    _, exponent = torch.frexp(magnitude)  # magnitude = m · 2^exponent with 1/2 <= m < 1
    return torch.ldexp(torch.ones_like(magnitude), exponent - PRECISION[dtype])


def ulp_error(actual: torch.Tensor, expected: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """|actual - expected| in ulp of ``dtype``, elementwise, float64. ``expected`` is the exact result in float64.

    0 where both are NaN, where both are the same infinity, and where ``expected`` lies beyond the largest number and
    ``actual`` is that infinity, as rounding to nearest gives. inf where only one of them is NaN or infinite.
    """
    actual, expected = actual.double(), expected.double()
    rounded = expected.to(dtype).double()
    error = (actual - expected).abs() / ulp_size(expected, dtype)
    same = (actual == rounded) & rounded.isinf() | actual.isnan() & expected.isnan()
    unlike = actual.isnan() ^ expected.isnan() | actual.isinf() & ~same
    return error.masked_fill(unlike, math.inf).masked_fill(same, 0.0)
