"""Says which dimensions of the example change together, found from equal sizes and by trying."""

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor

from ...runner import Args
from .drawing import longer

SizePlace = tuple[int, int]  # an argument, and its dimension; -1 for a number that is a size itself
Accepts = Callable[[Args], bool]


@dataclass(frozen=True)
class Dimension:
    """Places of one size that change together, and places of multiples of it."""

    size: int
    places: dict[SizePlace, int]  # with how many times the size

    def named(self, names: tuple[str, ...]) -> str:
        """``dimension 1 of x``: the first place of this size."""
        argument, axis = min(place for place, times in self.places.items() if place[1] >= 0 and times == 1)
        return f"dimension {axis} of {names[argument]}"

    def is_last(self, args: Args) -> bool:
        """Returns whether it is the last one of a tensor that has others: its columns."""
        return any(axis == args[argument].dim() - 1 > 0 for argument, axis in self.places if axis >= 0)

    def elements(self, args: Args, size: int) -> int:
        """Returns how many all tensors of `at` have together."""
        shapes = {number: list(value.shape) for number, value in enumerate(args) if isinstance(value, Tensor)}
        for (argument, axis), times in self.places.items():
            if axis >= 0:
                shapes[argument][axis] = size * times
        return sum(map(math.prod, shapes.values()))

    def at(self, args: Args, size: int, generator: Generator, distinct: bool = False) -> Args:
        """Arguments like ``args`` of another size: the numbers are those of ``args``, cut off, or more like them.
        distinct: as `longer` has it.
        """
        resized = list(args)
        for (argument, axis), times in self.places.items():
            value: Any = resized[argument]
            if axis < 0:
                resized[argument] = size * times
            elif size * times > value.shape[axis]:
                resized[argument] = longer(value, axis, size * times, generator, distinct)
            else:
                resized[argument] = value.narrow(axis, 0, size * times).clone()
        return tuple(resized)


@dataclass(frozen=True)
class Offsets:
    """An argument that says where the parts of a dimension begin, and at last its size, as ``cu_seqlens`` does; and the
    numbers among the arguments that are the size of the largest part.
    """

    argument: int
    place: SizePlace
    numbers: tuple[int, ...]

    def of(self, args: Args) -> Args:
        """The arguments with offsets that are sorted, begin with 0 and end with the size that there is now."""
        (tensor, axis), before = self.place, args[self.argument]
        if not before.numel():
            return args
        changed, size = list(args), args[tensor].shape[axis]
        offsets = before.clamp(0, size).sort().values
        offsets[0], offsets[-1] = 0, size
        changed[self.argument] = before if offsets.equal(before) else offsets
        for number in self.numbers:
            changed[number] = int(offsets.diff().max()) if len(offsets) > 1 else 0
        return tuple(changed)


def offsets_of(args: Args) -> list[Offsets]:
    """Those of the arguments that are offsets: integers in order, from 0 to the size of another one's dimension."""
    offsets = []
    for number, tensor in enumerate(args):
        if not isinstance(tensor, Tensor) or tensor.dtype not in (torch.int32, torch.int64) or tensor.dim() != 1:
            continue
        if len(tensor) < 2 or tensor[0] or not tensor[-1] or bool((tensor.diff() < 0).any()):
            continue
        tensors = [(i, a) for i, a in enumerate(args) if isinstance(a, Tensor) and i != number]
        place = next(((i, axis) for i, a in tensors for axis, s in enumerate(a.shape) if s == tensor[-1]), None)
        if place:
            largest = int(tensor.diff().max())
            offsets.append(
                Offsets(number, place, tuple(i for i, a in enumerate(args) if type(a) is int and a == largest))
            )
    return offsets


def dimensions_of(args: Args, accepts: Accepts) -> list[Dimension]:
    """The dimensions that change freely. accepts: whether the reference takes such arguments."""
    groups: dict[int, list[SizePlace]] = defaultdict(list)
    for number, value in enumerate(args):
        if isinstance(value, Tensor):
            for axis, size in enumerate(value.shape):
                groups[size].append((number, axis))
    dimensions = []
    for size, places in groups.items():
        if size < 1:
            continue
        one_tensor = len({argument for argument, _ in places}) == 1
        if aligned := _by_axis(args, size, places, accepts):
            dimensions += aligned
            continue
        joined = _together(args, size, places, groups, accepts)
        if joined and (len(places) == 1 or not one_tensor):
            dimensions.append(joined)  # sizes that are equal in the example are meant to be, also where they broadcast
        elif size > 1:
            alone = [place for place in places if _changes(args, size, {place: 1}, accepts)]
            dimensions += [Dimension(size, {place: 1}) for place in alone] or filter(None, [joined])
    return dimensions


def _by_axis(args: Args, size: int, places: list[SizePlace], accepts: Accepts) -> list[Dimension]:
    """The dimensions of tensors of which one has this size more than once, as square matrices do: those of one axis
    change together, counted from the first or from the last; none where the reference does not take that.
    """
    ranks = {argument: args[argument].dim() for argument, _ in places}
    if len(ranks) == 1 or len(ranks) == len(places):
        return []
    for offset in ({argument: 0 for argument in ranks}, ranks):
        axes: dict[int, dict[SizePlace, int]] = defaultdict(dict)
        for argument, axis in places:
            axes[axis - offset[argument]][argument, axis] = 1
        if len(axes) > 1 and all(_changes(args, size, together, accepts) for together in axes.values()):
            return [Dimension(size, together) for together in axes.values()]
    return []


def _together(
    args: Args, size: int, places: list[SizePlace], groups: dict[int, list[SizePlace]], accepts: Accepts
) -> Dimension | None:
    """The dimension of these places, with the numbers that are its size and the dimensions that are its multiples where
    the reference takes it only so.
    """
    plain = dict.fromkeys(places, 1)
    numbers = {(i, -1): 1 for i, a in enumerate(args) if type(a) is int and a == size}
    multiples = {p: other // size for other, more in groups.items() if other > size and not other % size for p in more}
    for more in ({}, numbers, multiples, numbers | multiples):
        if _changes(args, size, plain | more, accepts):
            return Dimension(size, plain | more)
    return None


def _changes(args: Args, size: int, places: dict[SizePlace, int], accepts: Accepts) -> bool:
    """Returns whether the reference takes one more and two more: with one less it refuses the last label, where the
    example has it; and one alone may be a size that broadcasts.
    """
    dimension, generator = Dimension(size, places), torch.Generator().manual_seed(0)
    return all(accepts(dimension.at(args, other, generator)) for other in (size + 1, size + 2))
