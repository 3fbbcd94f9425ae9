"""A function with the arguments of a batch, of which other batches of the same rows are made."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ...runner import Args, Callee, CompareError, Contract, FollowedCall, InProcess, Session, Tree, Trouble
from .compositions import Composition, whole_batch

HUGE = 0.25  # of the dtype's largest number
ANY_RESULTS = tuple(f"result_{number}" for number in range(Tree.TENSORS))  # as many as the function returns


class CallFailed(Exception):
    """A call on a batch has no results. refused: the sentence where these are of no kind that can be compared."""

    def __init__(self, trouble: Trouble):
        super().__init__(trouble.message if trouble.error else f"EmulatorError: {trouble.message}")
        self.refused = trouble.message.partition(": ")[2] if trouble.error == CompareError.__name__ else ""


@dataclass(frozen=True)
class Batch:
    """callee: the function. args: the example's, then a module's parameters. names: of all of them. places: of the
    arguments whose dimension 0 is the batch. rows: how many it has. session: in which it is called.
    """

    callee: Callee
    args: Args
    names: tuple[str, ...]
    places: tuple[int, ...]
    rows: int
    session: Session

    @classmethod
    def of(cls, callee: Callee, example: Args, batch: Sequence[str | int], session: Session) -> "Batch":
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
        return cls(callee, example + tuple(callee.parameters.values()), names, places, rows, session)

    @cached_property
    def floating(self) -> bool:
        """Returns whether rows hold floating-point numbers, which may be NaN and huge."""
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

    @cached_property
    def _runner(self) -> InProcess:
        """Calls the function; what it returns is followed by the batch arguments as it left them."""

        @torch.no_grad()
        def call(*args: object) -> Args:
            return (*self.callee.results(args), *(args[at] for at in self.places))

        contract = Contract(self.callee.name, self.names, ANY_RESULTS, fewest=0)
        return InProcess(call, contract, "torch", guarded=False, simulated=self.session)

    def results(self, composition: Composition) -> dict[str, Tensor]:
        """Returns what a call on another batch returns, then the batch arguments as it left them, by name. Raises
        CallFailed.
        """
        outcome = self._runner.once(self._made(composition), launches=False)
        if outcome.trouble:
            raise CallFailed(outcome.trouble)
        return self._named(outcome.outputs)

    def followed(self, composition: Composition) -> tuple[dict[str, Tensor], FollowedCall] | None:
        """The same, and the histories of its floats; None where nothing is emulated."""
        return self._whole if composition == whole_batch(self.rows) else self._followed(composition)

    @cached_property
    def _whole(self) -> tuple[dict[str, Tensor], FollowedCall] | None:
        return self._followed(whole_batch(self.rows))

    def _followed(self, composition: Composition) -> tuple[dict[str, Tensor], FollowedCall] | None:
        if self._runner.facts.mode != "emulator":
            return None
        call = self._runner.followed(self._made(composition))
        return self._named(call.outputs), call

    def _named(self, outputs: Args) -> dict[str, Tensor]:
        returned = len(outputs) - len(self.places)
        names = ["result"] if returned == 1 else [*ANY_RESULTS[:returned]]
        return dict(zip([*names, *(self.names[at] for at in self.places)], outputs, strict=True))

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
