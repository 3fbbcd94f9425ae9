"""Says how a tensor may lie in memory: each view has the same numbers in another layout."""

from collections.abc import Callable

import torch
from torch import Tensor

TensorView = Callable[[Tensor], Tensor]  # of a tensor's memory


def transposed(x: Tensor) -> Tensor:
    """The same numbers, those of a column next to each other."""
    return x.mT.contiguous().mT


def every_second(x: Tensor) -> Tensor:
    """The same numbers as every second column of a tensor twice as wide."""
    turned = x[..., torch.arange(x.shape[-1] - 1, -1, -1)]  # there is no `flip` of float8
    return torch.stack((x, turned), -1).flatten(-2)[..., ::2]


def with_gaps(x: Tensor) -> Tensor:
    """The same numbers in rows that are longer: NaN lies between one row and the next."""
    return torch.nn.functional.pad(x, (3, 30), value=torch.nan)[..., 3:-30]


def one_number(x: Tensor) -> Tensor:
    """Returns what ``.sum()`` hands back: one number for the whole shape, at stride 0."""
    return x.new_tensor(-0.7).expand(x.shape)


def one_row(x: Tensor) -> Tensor:
    """Every index of the first dimension is the first one, at stride 0."""
    return x[:1].expand(x.shape)
