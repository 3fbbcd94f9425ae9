"""A function with the arguments of an example, called again on others like them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ...runner import Args, Callee, CompareError, Contract, FollowedCall, InProcess, Session, Tree, Trouble
from .bits import other_bits

ANY_RESULTS = tuple(f"result_{number}" for number in range(Tree.TENSORS))  # as many as the function returns
HUGE = 0.25  # of the dtype's largest number
NamedHistories = tuple[dict[str, Tensor], FollowedCall]  # the results of a call by name, and their histories


class CallFailed(Exception):
    """A call has no results. refused: the sentence where these are of no kind that can be compared."""

    def __init__(self, trouble: Trouble):
        super().__init__(trouble.message if trouble.error else f"EmulatorError: {trouble.message}")
        self.unattached = trouble.error == "NotAttached"
        self.refused = trouble.message.partition(": ")[2] if trouble.error == CompareError.__name__ else ""

    def __str__(self) -> str:
        return super().__str__().partition("\n")[0]


@dataclass(frozen=True)
class CalledFunction:
    """callee: the function. args: the example's, then a module's parameters. names: of all of them. places: of the
    arguments that are named. session: in which it is called.
    """

    callee: Callee
    args: Args
    names: tuple[str, ...]
    places: tuple[int, ...]
    session: Session

    @classmethod
    def of(
        cls, callee: Callee, example: Args, named: str | int | Sequence[str | int], session: Session
    ) -> "CalledFunction":
        """The function and an example. named: an argument or several, by name or place. Raises CompareError."""
        names = callee.argument_names(len(example))
        named = [named] if isinstance(named, str | int) else named
        places = tuple(sorted({_place(name, names, len(example)) for name in named}))
        if not places:
            raise CompareError("name the arguments whose dimension 0 is the batch: --batch NAME (in Python batch=)")
        return cls(callee, example + tuple(callee.parameters.values()), names, places, session)

    @cached_property
    def _runner(self) -> InProcess:
        """Calls the function; what it returns is followed by the named arguments as it left them."""

        @torch.no_grad()
        def call(*args: object) -> Args:
            return (*self.callee.results(args), *(args[at] for at in self.places))

        contract = Contract(self.callee.name, self.names, ANY_RESULTS, fewest=0)
        return InProcess(call, contract, "torch", guarded=False, simulated=self.session)

    def results(self, args: Args) -> dict[str, Tensor]:
        """Returns what a call returns, then the named arguments as it left them, by name. Raises CallFailed."""
        outcome = self._runner.once(args, launches=False)
        if outcome.trouble:
            raise CallFailed(outcome.trouble)
        return self._named(outcome.outputs)

    def with_gradients(self, args: Args, upstream: Args) -> dict[str, Tensor]:
        """Returns what a call returns, by name, and ``gradient of NAME`` for each floating-point argument.

        upstream: the gradient of each floating-point result. Raises CallFailed.
        """

        def call(*args_and_upstream: object) -> Args:
            count = len(args_and_upstream) - len(upstream)
            return self.callee.results_and_gradients(args_and_upstream[:count], args_and_upstream[count:])

        above = tuple(f"upstream_{number}" for number in range(len(upstream)))
        contract = Contract(self.callee.name, self.names + above, ANY_RESULTS, fewest=0)
        runner = InProcess(call, contract, "torch", guarded=False, simulated=self.session)
        outcome = runner.once(args + upstream, launches=False)
        if outcome.trouble:
            raise CallFailed(outcome.trouble)
        floats = [name for name, value in zip(self.names, args, strict=True) if Tree((value,)).differentiable]
        returned = len(outcome.outputs) - len(floats)
        return dict(
            zip(
                [*self._of_results(returned), *(f"gradient of {name}" for name in floats)],
                outcome.outputs,
                strict=True,
            )
        )

    def followed(self, args: Args) -> NamedHistories | None:
        """The same, and the histories of its floats; None where nothing is emulated."""
        if self._runner.facts.mode != "emulator":
            return None
        call = self._runner.followed(args)
        return self._named(call.outputs), call

    def results_twice(self, args: Args | None = None) -> dict[str, Tensor]:
        """The results of the example, or of ``args``. Raises CompareError where two calls do not agree on them."""
        name, args = self.callee.name, self.args if args is None else args
        try:
            first, second = self.results(args), self.results(args)
        except CallFailed as error:
            raise CompareError(error.refused or f"{name} raises on the example: {error}") from error
        for output, result in first.items():
            other = second.get(output)
            if other is None or result.shape != other.shape or bool(other_bits(result, other).any()):
                raise CompareError(
                    f"{name} is not deterministic: {output} of one call twice has other bits. Where it draws numbers "
                    "(dropout), switch that off (`.eval()`) or pass them as an argument; where programs add by "
                    "atomics, the order of a sum is chance on a GPU"
                )
        return first

    def written(self, results: dict[str, Tensor]) -> dict[str, Tensor]:
        """The results of the example without the arguments that it left as they were."""
        same = {self.names[at] for at in self.places if _same(self.args[at], results[self.names[at]])}
        return {name: result for name, result in results.items() if name not in same}

    def _named(self, outputs: Args) -> dict[str, Tensor]:
        returned = self._of_results(len(outputs) - len(self.places))
        return dict(zip([*returned, *(self.names[at] for at in self.places)], outputs, strict=True))

    @staticmethod
    def _of_results(count: int) -> list[str]:
        return ["result"] if count == 1 else [*ANY_RESULTS[:count]]


def _place(name: str | int, names: tuple[str, ...], count: int) -> int:
    """The place of an argument that is named or counted from 0. Raises CompareError."""
    if isinstance(name, int) or name.isdecimal():
        if 0 <= int(name) < count:
            return int(name)
        raise CompareError(f"there is no argument {name}: the example has {count}, the first is 0")
    if name in names[:count]:
        return names.index(name)
    raise CompareError(f"there is no argument {name}: there are {', '.join(names[:count])}")


def _same(before: object, after: Tensor) -> bool:
    if not isinstance(before, Tensor):
        return False
    return torch.equal(before, after) or torch.allclose(before, after, 0, 0, equal_nan=True)
