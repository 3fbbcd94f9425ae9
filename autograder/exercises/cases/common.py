"""What records and families of cases share."""

from collections.abc import Callable

import torch
from torch import Tensor

View = Callable[[Tensor], Tensor]  # of a tensor's memory

EPS = 2.0**-23  # one ulp of float32 at 1
HALVES = (torch.float16, torch.bfloat16)

AGAIN = "the same shape again"
KEEP_NOTHING = "A shape seen before, with other values: the result must come from these values alone."


def transposed(x: Tensor) -> Tensor:
    """The same numbers, those of a column next to each other."""
    return x.mT.contiguous().mT


def every_second(x: Tensor) -> Tensor:
    """The same numbers as every second column of a tensor twice as wide."""
    return torch.stack((x, -x), -1).flatten(-2)[..., ::2]


def with_gaps(x: Tensor) -> Tensor:
    """The same numbers in rows that are longer: NaN lies between one row and the next."""
    return torch.nn.functional.pad(x, (3, 30), value=torch.nan)[..., 3:-30]


def one_number(x: Tensor) -> Tensor:
    """What ``.sum()`` hands back: one number for the whole shape, at stride 0."""
    return x.new_tensor(-0.7).expand(x.shape)
