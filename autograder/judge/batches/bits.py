"""Compares two results bit by bit, and says how far apart two numbers are."""

import torch
from torch import Tensor

from ..records.ulp import ulp_size


def other_bits(here: Tensor, there: Tensor) -> Tensor:
    """Returns at which elements the bits differ. Any NaN is like another."""
    other = _bits(here) != _bits(there)
    if here.is_floating_point():
        other &= ~(here.isnan() & there.isnan())
    return other


def _bits(x: Tensor) -> Tensor:
    if not x.is_floating_point():
        return x
    return x.contiguous().view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[x.itemsize])


def text_of(x: Tensor) -> str:
    """Returns a number as a sentence shows it."""
    return f"{x.item():.9g}" if x.is_floating_point() else str(x.item())


def ulp_between(first: Tensor, second: Tensor) -> float | None:
    """Returns the distance in units of the last place of the second; None where that is no number."""
    if not first.is_floating_point() or first.itemsize == 1 or not (first.isfinite() and second.isfinite()):
        return None
    exact = second.double()
    return float((first.double() - exact).abs() / ulp_size(exact, second.dtype))
