"""A function with the arguments of a batch, of which other batches of the same rows are made."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ...gpu import Emulator, mode, place
from ...runner import Args, Callee, CompareError, Tree
from .compositions import Composition

HUGE = 0.25  # of the dtype's largest number


@dataclass(frozen=True)
class Batch:
    """callee: the function. args: the example's, then a module's parameters. names: of all of them. places: of the
    arguments whose dimension 0 is the batch. rows: how many it has. gpu: whether tensors are given on a simulated GPU.
    """

    callee: Callee
    args: Args
    names: tuple[str, ...]
    places: tuple[int, ...]
    rows: int
    gpu: bool

    @classmethod
    def of(cls, callee: Callee, example: Args, batch: Sequence[str | int], gpu: bool) -> "Batch":
        """The batch of an example. batch: arguments by name or place. Raises CompareError."""
        names = callee.argument_names(len(example))
        places = tuple(sorted({_place(one, names, len(example)) for one in batch}))
        if not places:
            raise CompareError("name the arguments whose dimension 0 is the batch: --batch NAME (in Python batch=)")
        sizes = {names[at]: _size(example[at], names[at]) for at in places}
        if len(set(sizes.values())) > 1:
            told = ", ".join(f"{size} rows in {name}" for name, size in sizes.items())
            raise CompareError(f"the batch has {told}: dimension 0 of each is the batch, and of one size")
        (rows,) = set(sizes.values())
        if rows < 2:
            raise CompareError(
                f"the example's batch has {rows} row{'s' * (not rows)}: give it two or more, better twenty"
            )
        return cls(callee, example + tuple(callee.parameters.values()), names, places, rows, gpu)

    @cached_property
    def floating(self) -> bool:
        """Whether rows hold floating-point numbers, which may be NaN and huge."""
        return any(self.args[at].is_floating_point() for at in self.places)

    def _made(self, composition: Composition) -> Args:
        """The arguments of another batch."""
        chosen = torch.tensor(composition.rows)
        others = torch.tensor([row != composition.alone for row in composition.rows])

        def of(at: int, value: object) -> object:
            if at not in self.places:
                return value
            assert isinstance(value, Tensor)
            rows = value[chosen.to(value.device)]
            if composition.beside and value.is_floating_point():
                huge = HUGE * torch.finfo(value.dtype).max
                rows[others] = torch.nan if composition.beside == "NaN" else huge
            return rows

        return tuple(of(at, value) for at, value in enumerate(self.args))

    def results(self, composition: Composition, emulator: Emulator | None = None) -> dict[str, Tensor]:
        """What a call on another batch returns, then the batch arguments as it left them, by name. emulator: in which
        its kernels run, where they are emulated; one that is thrown away where it is None.
        """
        args = self._made(composition)
        given = Tree(Tree(args).copied()).map(lambda a: place(a, self.gpu))
        machine = (emulator or Emulator()) if mode() == "emulator" else contextlib.nullcontext()
        with torch.no_grad(), machine:
            returned = self.callee.results(given)
        names = ["result"] if len(returned) == 1 else [f"result_{number}" for number in range(len(returned))]
        found = dict(zip(names, returned, strict=True))
        return found | {self.names[at]: given[at] for at in self.places}

    def written(self, results: dict[str, Tensor]) -> dict[str, Tensor]:
        """The results of the whole batch without the arguments that it left as they were."""
        same = {self.names[at] for at in self.places if _same(self.args[at], results[self.names[at]])}
        return {name: one for name, one in results.items() if name not in same}


def _place(one: str | int, names: tuple[str, ...], count: int) -> int:
    """The place of an argument that is named or counted from 0. Raises CompareError."""
    if isinstance(one, int) or one.isdecimal():
        if 0 <= int(one) < count:
            return int(one)
        raise CompareError(f"there is no argument {one}: the example has {count}, the first is 0")
    if one in names[:count]:
        return names.index(one)
    raise CompareError(f"there is no argument {one}: there are {', '.join(names[:count])}")


def _size(value: object, name: str) -> int:
    if not isinstance(value, Tensor) or not value.dim():
        what = "is a tensor without dimensions" if isinstance(value, Tensor) else f"is of type {type(value).__name__}"
        raise CompareError(f"{name} {what}: a batch is dimension 0 of a tensor")
    return value.shape[0]


def _same(before: Tensor, after: Tensor) -> bool:
    return torch.equal(before, after) or torch.allclose(before, after, 0, 0, equal_nan=True)
