"""Places of wrong elements of a result, where they have something in common: a row, a sign of an input, a label."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch

FEWEST = 3  # elements on either side of a line between wrong and right
MOST = 0.8  # of the elements that have something in common are wrong
CERTAIN = 40.0  # bits: all wrong elements are among so few by no accident

DimensionGroup = tuple[
    str, torch.Tensor
]  # what its elements have in common, to complete "wrong only", and which they are


def place(output: str, wrong: torch.Tensor, exact: torch.Tensor, near: torch.Tensor, named: Mapping[str, Any]) -> str:
    """A sentence on what the wrong elements have in common; "" where nothing is seen.

    wrong: the mask of the wrong elements of ``output``, whose right values are ``exact``, or off by up to ``near``.
    named: the arguments of the call by name.
    """
    telling = wrong | exact.isfinite() & (exact.abs() > near)  # what is 0 or NaN is easily right
    many, right = int(wrong.sum()), int((telling & ~wrong).sum())
    if many < FEWEST or right < FEWEST:
        return ""
    for words, group in _groups(wrong, named):
        among = group & telling
        share = float(among.sum() / telling.sum())
        if not bool((wrong & ~group).any()) and many >= MOST * int(among.sum()):
            if int(among.sum()) == many or -many * math.log2(share) >= CERTAIN:
                return f"{output} is wrong only {words}."
    return ""


def _groups(wrong: torch.Tensor, named: Mapping[str, Any]) -> Iterator[DimensionGroup]:
    whole = {name: value for name, value in named.items() if isinstance(value, int) and not isinstance(value, bool)}
    tensors = [(name, value) for name, value in named.items() if isinstance(value, torch.Tensor) and value.dim()]
    for name, value in sorted(tensors, key=lambda item: item[1].is_floating_point()):
        if value.shape != wrong.shape[: value.dim()]:
            continue
        spread = value.reshape(*value.shape, *[1] * (wrong.dim() - value.dim())).expand(wrong.shape)
        yield from _alike(name, spread, whole)
        if wrong.dim() == value.dim() + 1 and not value.is_floating_point() and value.dtype != torch.bool:
            yield f"in the column that {name} names", torch.arange(wrong.shape[-1]).expand(wrong.shape) == spread


def _alike(name: str, value: torch.Tensor, whole: Mapping[str, int]) -> Iterator[DimensionGroup]:
    if value.dtype == torch.bool:
        yield f"where {name} is True", value
        yield f"where {name} is False", ~value
    elif value.is_floating_point():
        yield f"where {name} is 0", value == 0
        yield f"where {name} < 0", value < 0
        yield f"where {name} > 0", value > 0
        yield f"where {name} <= 0", value <= 0
        yield f"where {name} >= 0", value >= 0
    else:
        for other, number in whole.items():
            yield f"where {name} is {other}", value == number
            yield f"where {name} is not {other}", value != number
