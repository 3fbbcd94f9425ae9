"""Unpredictable arguments of the same kind as a case's own, for which no table of results can be prepared."""

from collections.abc import Callable
from typing import TypeGuard

import torch

from ..exercises.record import Case
from ..run.contract import Args
from ..run.outcome import Decoy
from ..sandbox.decoy import any_numbers
from ..sandbox.wire import buffers

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
        if [_kind(a) for a in drawn] != [_kind(a) for a in args]:
            return any_numbers(args)
        fixed = [_is_tensor(a) and _same(a, given) for a, given in zip(drawn, args, strict=True)]
        if all(fixed[i] for i, a in enumerate(drawn) if _is_tensor(a)) or _elementwise(drawn):
            drawn = tuple(_shrunk(a, chance) if same else a for a, same in zip(drawn, fixed, strict=True))
        return Decoy(drawn, case.raises is None)

    return draw


def _kind(argument: object) -> tuple[object, ...]:
    """All that two calls must have in common to be recorded as one: of a tensor its layout, of the rest the value."""
    if not _is_tensor(argument):
        return type(argument), repr(argument)
    return argument.dtype, argument.shape, argument.stride()


def _is_tensor(argument: object) -> TypeGuard[torch.Tensor]:
    return isinstance(argument, torch.Tensor)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(buffers.bits(one).equal(buffers.bits(other)))


def _elementwise(args: Args) -> bool:
    """Whether every element of a tensor meets one of each other tensor, and so none is computed from many."""
    return len({a.shape for a in args if _is_tensor(a)}) == 1


def _shrunk(tensor: torch.Tensor, chance: torch.Generator) -> torch.Tensor:
    if not tensor.is_floating_point():
        return tensor
    return buffers.changed(tensor, lambda x: x.double() * (1 - SHRUNK * torch.rand(x.shape, generator=chance)))
