"""Unpredictable arguments of the same kind as a case's own, for which no table of results can be prepared."""

from collections.abc import Callable

import torch

from ..runner import Args, Decoy, Tree
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
            return Decoy.any_numbers(args)
        tensors = Tree(drawn).tensors
        fixed = [Tree((a,)).same_bits((given,)) for a, given in zip(tensors, Tree(args).tensors, strict=True)]
        if all(fixed) or _elementwise(tensors):
            shrunk = [same and a.is_floating_point() for a, same in zip(tensors, fixed, strict=True)]
            drawn = Tree(drawn).changed(
                lambda x: x.double() * (1 - SHRUNK * torch.rand(x.shape, generator=chance)), shrunk
            )
        return Decoy(drawn, case.raises is None)

    return draw


def _layout(args: Args) -> str:
    """All that two calls must have in common to be recorded as one: of a tensor its layout, of the rest the value."""
    return repr(Tree(args).map(lambda a: (a.dtype, a.shape, a.stride())))


def _elementwise(tensors: list[torch.Tensor]) -> bool:
    """Whether every element of a tensor meets one of each other tensor, and so none is computed from many."""
    return len({a.shape for a in tensors}) == 1
