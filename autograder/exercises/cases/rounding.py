"""Says what float32 arithmetic loses, for the floors of tolerances."""

import math

import torch
from torch import Tensor

from ...judge import Floors

EPS = 2.0**-23  # one ulp of float32 at 1


def walk(n: int) -> float:
    """Returns what a float32 sum of ``n`` numbers of one size may lose, in EPS of the sum of their magnitudes.

    An addition is off by at most half an ulp of the sum so far, up or down: over n of them, one after the other, the
    root mean square of a random walk is √n / 8 or, where the largest comes first, √n / 5. Five times that does not
    happen.
    """
    return math.sqrt(n)


def leaning_walk(n: int) -> float:
    """The same of numbers from none to many times their mean, as squares and exponentials are.

    What is below half an ulp of the sum so far is lost whole, and fewer are rounded up in its place: in the cases of
    20,011 such numbers the roundings lean by up to 1/50 of an ulp a number, one by one, at 100 seeds; in blocks they do
    not. The worst case, which no numbers that a seed draws come near, is n / 2.
    """
    return walk(n) + n / 32


def floors(*values: Tensor | float) -> Floors:
    """An absolute tolerance for each output: 0 where a NaN in the input makes the expected value NaN too."""
    return tuple(torch.as_tensor(v, dtype=torch.float64).nan_to_num() for v in values)
