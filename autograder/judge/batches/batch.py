"""A function with the arguments of a batch, of which other batches of the same rows are made."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ...runner import Args, CompareError
from .called_function import HUGE, CalledFunction, NamedHistories
from .compositions import Composition, whole_batch


@dataclass(frozen=True)
class Batch:
    """function: with its example. rows: how many dimension 0 of each named argument has."""

    function: CalledFunction
    rows: int

    @classmethod
    def of(cls, function: CalledFunction) -> "Batch":
        """The batch of an example. Raises CompareError."""
        args, names = function.args, function.names
        sizes = {names[at]: _size(args[at], names[at]) for at in function.places}
        if len(set(sizes.values())) > 1:
            counts = ", ".join(f"{size} rows in {name}" for name, size in sizes.items())
            raise CompareError(f"the batch has {counts}: dimension 0 of each is the batch, and of one size")
        (rows,) = set(sizes.values())
        if rows < 2:
            raise CompareError(
                f"the example's batch has {rows} row{'s' * (not rows)}: give it two or more, better twenty"
            )
        return cls(function, rows)

    @cached_property
    def floating(self) -> bool:
        """Returns whether rows hold floating-point numbers, which may be NaN and huge."""
        named = (self.function.args[at] for at in self.function.places)
        return any(isinstance(value, Tensor) and value.is_floating_point() for value in named)

    def _arguments(self, composition: Composition) -> Args:
        """The arguments of another batch."""
        chosen = torch.tensor(composition.rows)
        others = torch.tensor([row != composition.alone for row in composition.rows])

        def of(at: int, value: object) -> object:
            if at not in self.function.places:
                return value
            assert isinstance(value, Tensor)
            rows = value[chosen.to(value.device)]
            if composition.beside and value.is_floating_point():
                huge = HUGE * torch.finfo(value.dtype).max
                rows[others] = torch.nan if composition.beside == "NaN" else huge
            return rows

        return tuple(of(at, value) for at, value in enumerate(self.function.args))

    def results(self, composition: Composition) -> dict[str, Tensor]:
        """As `CalledFunction` has it, of another batch. Raises CallFailed."""
        return self.function.results(self._arguments(composition))

    def results_twice(self) -> dict[str, Tensor]:
        """As `CalledFunction` has it, of the whole batch. Raises CompareError."""
        return self.function.results_twice(self._arguments(whole_batch(self.rows)))

    def followed(self, composition: Composition) -> NamedHistories | None:
        """The same, and the histories of its floats; None where nothing is emulated."""
        if composition == whole_batch(self.rows):
            return self._whole
        return self.function.followed(self._arguments(composition))

    @cached_property
    def _whole(self) -> NamedHistories | None:
        return self.function.followed(self._arguments(whole_batch(self.rows)))


def _size(value: object, name: str) -> int:
    if not isinstance(value, Tensor) or not value.dim():
        what = "is a tensor without dimensions" if isinstance(value, Tensor) else f"is of type {type(value).__name__}"
        raise CompareError(f"{name} {what}: a batch is dimension 0 of a tensor")
    return value.shape[0]
