"""Unpredictable arguments of the same kind as a case's own, for which no table of results can be prepared."""

from collections.abc import Callable

import torch

from ..runner import Args, Decoy, any_numbers, bits, changed, map_tensors, tensors_of
from .records.record import Case

SHRUNK = 1 / 16  # by up to this share a number is made smaller where the case always gives the same


def decoys(case: Case, args: Args, seed: int) -> Callable[[], Decoy]:
    """A function that makes another decoy for a case at every call: the case's own inputs, drawn with numbers that
    ``seed`` begins.

    Numbers that the case gives every time are made a little smaller, each by a share of its own, which leaves zeros,
    infinities and NaN as they are and overflows nowhere; not where one argument is computed from another. Where a case
    draws another layout every time, the decoy is not valid: any numbers in the layout of ``args``.
    """

    chance = torch.Generator().manual_seed(seed)

    def draw() -> Decoy:
        drawn = case.inputs(chance)
        if _layout(drawn) != _layout(args):
            return any_numbers(args)
        tensors = tensors_of(drawn)
        fixed = [_same(a, given) for a, given in zip(tensors, tensors_of(args), strict=True)]
        if all(fixed) or _elementwise(tensors):
            same = iter(fixed)
            drawn = map_tensors(lambda a: _shrunk(a, chance) if next(same) else a, drawn)
        return Decoy(drawn, case.raises is None)

    return draw


def _layout(args: Args) -> str:
    """All that two calls must have in common to be recorded as one: of a tensor its layout, of the rest the value."""
    return repr(map_tensors(lambda a: (a.dtype, a.shape, a.stride()), args))


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(bits(one).equal(bits(other)))


def _elementwise(tensors: list[torch.Tensor]) -> bool:
    """Whether every element of a tensor meets one of each other tensor, and so none is computed from many."""
    return len({a.shape for a in tensors}) == 1


def _shrunk(tensor: torch.Tensor, chance: torch.Generator) -> torch.Tensor:
    if not tensor.is_floating_point():
        return tensor
    return changed(tensor, lambda x: x.double() * (1 - SHRUNK * torch.rand(x.shape, generator=chance)))
