"""Distances in units in the last place.

One ulp at a real number e is the gap between the two floating-point numbers around it: 2^(max(⌊log2 |e|⌋, emin) - p +
1), with p bits of precision and smallest normal exponent emin. Below the smallest normal the gap stays that of the
subnormals.
"""

import math

import torch

_EXPONENT = 0x7FF << 52  # of a float64
HALVES = (torch.float16, torch.bfloat16)
FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)
PRECISION = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53}  # p, the hidden bit counted
PRECISION |= dict(zip(FLOAT8, (4, 3, 4, 3), strict=True))


def comparable(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor; in float64 where it is of float8, for which PyTorch has few functions."""
    return tensor.double() if tensor.dtype in FLOAT8 else tensor


def ulp_size(expected: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The size of one ulp of ``dtype`` at every number of ``expected`` (float64). NaN and infinity give the largest
    ulp; of an integer dtype an ulp is 1.
    """
    if not dtype.is_floating_point:
        return torch.ones_like(expected, dtype=torch.float64)
    info = torch.finfo(dtype)
    magnitude = expected.detach().double().abs().nan_to_num_(nan=info.max, posinf=info.max)
    magnitude.clamp_(info.smallest_normal, info.max)
    power = magnitude.view(torch.int64).bitwise_and_(_EXPONENT).view(torch.float64)  # of 2, that it begins with
    return power.mul_(2.0 ** (1 - PRECISION[dtype]))


def ulp_error(
    actual: torch.Tensor, expected: torch.Tensor, dtype: torch.dtype, size: torch.Tensor | None = None
) -> torch.Tensor:
    """|actual - expected| in ulp of ``dtype``, elementwise, float64. ``expected`` is the exact result in float64; size:
    its `ulp_size`, where that is known.

    0 where both are NaN, where both are the same infinity, and where ``expected`` lies beyond the largest number and
    ``actual`` is that infinity, as rounding to nearest gives. inf where only one of them is NaN or infinite. Of an
    integer dtype it is their difference, and 0 only where they are equal: float64 does not hold every int64.
    """
    if not dtype.is_floating_point:
        actual, expected = actual.long(), expected.long()
        return (actual.double() - expected.double()).abs().clamp(min=1).masked_fill(actual == expected, 0)
    actual, expected = actual.double(), expected.double()
    error = (actual - expected).abs() / (ulp_size(expected, dtype) if size is None else size)
    if error.isfinite().all():  # and both numbers with it
        return error
    rounded = expected.to(dtype).double()
    same = (actual == rounded) & rounded.isinf() | actual.isnan() & expected.isnan()
    unlike = actual.isnan() ^ expected.isnan() | actual.isinf() & ~same
    return error.masked_fill(unlike, math.inf).masked_fill(same, 0.0)
