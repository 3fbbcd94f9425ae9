"""A function with the arguments of a sequence, of which others with the same past are made."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from ...runner import Args, CompareError, Tree
from .called_function import HUGE, CalledFunction, NamedHistories

Behind = Literal["other numbers", "NaN", "huge numbers"]
UPSTREAM_SEED = 20_260_911


@dataclass(frozen=True)
class Future:
    """kept: how many positions stay as they are. behind: what those after them hold instead."""

    kept: int
    behind: Behind = "other numbers"

    @property
    def what(self) -> str:
        """The sequence in words."""
        return f"the first {self.kept} position{'s' * (self.kept != 1)}, then {self.behind}"


def cuts(length: int) -> tuple[int, ...]:
    """Numbers of positions to keep: on the edges of blocks, whatever power of two their length is, one behind an edge,
    and in the middle of a block; the first alone, and all but the last.
    """
    block = 1 << (length - 1).bit_length() - 1  # the largest power of two below the length
    chosen = (1, length // 3, block // 2, block * 3 // 4, block, block + 1, length - 1)
    return tuple(sorted({kept for kept in chosen if 0 < kept < length}))


@dataclass(frozen=True)
class TimeAxis:
    """function: with its example. dim: of time. length: how many positions dimension ``dim`` of each argument in
    ``places`` has.
    """

    function: CalledFunction
    dim: int
    length: int
    places: tuple[int, ...]

    @classmethod
    def of(cls, function: CalledFunction, dim: int) -> "TimeAxis":
        """The positions of an example. Raises CompareError."""
        if not isinstance(dim, int) or dim < 0:
            raise CompareError(f"the dimension of time is counted from 0, not {dim!r}")
        named = {at: function.args[at] for at in function.places}
        sizes = {at: value.shape[dim] for at, value in named.items() if isinstance(value, Tensor) and value.dim() > dim}
        if not sizes:
            raise CompareError(f"no argument that is named has a dimension {dim}, that of time")
        if len(set(sizes.values())) > 1:
            counts = ", ".join(f"{size} positions in {function.names[at]}" for at, size in sizes.items())
            raise CompareError(f"the sequence has {counts}: dimension {dim} of each is time, and of one size")
        (length,) = set(sizes.values())
        if length < 2:
            raise CompareError(f"the example has {length} position{'s' * (not length)}: give it two or more")
        return cls(function, dim, length, tuple(sizes))

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments that have positions."""
        return tuple(self.function.names[at] for at in self.places)

    def futures(self) -> Iterator[Future]:
        """The sequences whose results are compared with those of the example."""
        kept = cuts(self.length)
        yield from map(Future, kept)
        if self._floating:
            for few in {kept[0], kept[len(kept) // 2]}:
                yield Future(few, "NaN")
                yield Future(few, "huge numbers")

    def results(self, future: Future) -> dict[str, Tensor]:
        """As `CalledFunction` has it, of another sequence. Raises CallFailed."""
        return self.function.results(self._arguments(future))

    def gradients(self, kept: int, future: Future | None, results: Args) -> dict[str, Tensor]:
        """The gradients of the positions, by name, of the example or of another sequence, where the upstream gradient
        is 0 behind the first ``kept`` positions. results: those of the example. Raises CallFailed.
        """
        args = self._arguments(future) if future else self.function.args
        upstream = tuple(self._upstream(result, kept) for result in Tree(results).differentiable)
        every = self.function.with_gradients(args, upstream)
        return {name: every[f"gradient of {name}"] for name in self.names if f"gradient of {name}" in every}

    def followed(self, future: Future) -> NamedHistories | None:
        """The results of another sequence, and the histories of their floats; None where nothing is emulated."""
        return self.function.followed(self._arguments(future))

    @cached_property
    def whole(self) -> NamedHistories | None:
        """The same of the example."""
        return self.function.followed(self.function.args)

    @property
    def _device(self) -> torch.device:
        (first, *_) = Tree(tuple(self.function.args[at] for at in self.places)).tensors
        return first.device

    @cached_property
    def _floating(self) -> bool:
        return any(Tree((self.function.args[at],)).differentiable for at in self.places)

    def _upstream(self, result: Tensor, kept: int) -> Tensor:
        draw = torch.Generator().manual_seed(UPSTREAM_SEED)
        upstream = torch.randn(result.shape, generator=draw).to(result.dtype)
        if not self.has_positions(result):
            upstream.zero_()  # of a last state, say, which all positions made
        else:
            upstream.narrow(self.dim, kept, self.length - kept).zero_()
        return upstream.to(self._device)  # a result is compared on the CPU

    def has_positions(self, result: Tensor) -> bool:
        """Returns whether dimension ``dim`` of a result is time."""
        return result.dim() > self.dim and result.shape[self.dim] == self.length

    def _arguments(self, future: Future) -> Args:
        return tuple(
            self._changed(value, future) if at in self.places and isinstance(value, Tensor) else value
            for at, value in enumerate(self.function.args)
        )

    def _changed(self, value: Tensor, future: Future) -> Tensor:
        """Other numbers are those of other positions, made smaller by up to a half: what a gate or a probability may be
        they may be, too.
        """
        late = torch.arange(future.kept, self.length)
        changed = value.clone()
        if future.behind == "other numbers" or not value.is_floating_point():
            moved = value.index_select(self.dim, ((late + math.ceil(self.length / 2)) % self.length).to(value.device))
            if value.is_floating_point():
                share = torch.rand(moved.shape, generator=torch.Generator().manual_seed(future.kept)) / 2 + 0.5
                moved = (
                    (moved.float() * share.to(moved.device)).to(value.dtype) if value.itemsize < 8 else moved * share
                )
            changed.narrow(self.dim, future.kept, len(late)).copy_(moved)
        else:
            number = torch.nan if future.behind == "NaN" else HUGE * torch.finfo(value.dtype).max
            changed.narrow(self.dim, future.kept, len(late)).fill_(number)
        return changed
