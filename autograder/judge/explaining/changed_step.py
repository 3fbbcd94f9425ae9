"""A formula with one of its steps changed, as an answer computes it that leaves out a term or a factor, takes another
sign, or has another number.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import torch

from ...gpu import lazily
from ...runner import Args, Tree
from ..records.borrowed import TorchDispatchMode

STEPS = 40  # of a formula; a longer one has too many that a change may be about
ELEMENTS = 1 << 15  # of its arguments, with which it is computed some hundred times
LONGEST = 12  # characters of a name
TIMES = ("half as large", 0.5), ("twice as large", 2.0)
ATEN = torch.ops.aten
OF_ONE = {
    ATEN.sigmoid.default: "sigmoid",
    ATEN.exp.default: "exp",
    ATEN.tanh.default: "tanh",
    ATEN.erf.default: "erf",
    ATEN.special_erfc.default: "erfc",
}
StepChange = tuple[str, Callable[[], Any]]  # in words, to complete "comes out as if"; what the step gives then


@lazily
class ChangedStep(TorchDispatchMode):
    """Changes one step of a formula that is computed under it. number: of the step, among those that can be changed;
    way: of changing it. names: those of the arguments, by their identity. words: the change, "" until it is made.
    steps: how many were seen. ways: in how many this one can be changed.
    """

    def __init__(self, number: int, way: int, names: dict[int, str]):
        super().__init__()  # type: ignore[no-untyped-call]
        self.number, self.way, self.words, self.steps, self.ways = number, way, "", 0, 0
        self.names = dict(names)
        self.alive: list[Any] = []  # named results, whose identity no later one may have

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        changes = list(self._changes(func, args)) if not kwargs else []
        if changes:
            self.steps += 1
            if self.steps == self.number + 1:
                self.ways = len(changes)
                self.words, change = changes[self.way]
                result = torch.as_tensor(change()).to(result.dtype).expand(result.shape)
        if name := self._name_of_step(func, args):
            self.names[id(result)] = name
            self.alive.append(result)
        return result

    def _name(self, value: Any) -> str:
        """The name of an operand; "" of one that has none."""
        return self.names.get(id(value), "") if isinstance(value, torch.Tensor) else f"{value:.6g}"

    def _named(self, noun: str, value: Any) -> str:
        """``the factor x``, or ``a factor``."""
        name = self._name(value)
        return f"the {noun} {name}" if name else f"a {noun}"

    def _name_of_step(self, func: Any, args: Any) -> str:
        name = self._name(args[0]) if args and isinstance(args[0], torch.Tensor) else ""
        if func is ATEN.neg.default and name:
            name = f"-{name}"
        elif func in OF_ONE and name:
            name = f"{OF_ONE[func]}({name})"
        else:
            name = ""
        return name if len(name) <= LONGEST else ""

    def _changes(self, func: Any, args: Any) -> Iterator[StepChange]:
        """Yields the changes of a step."""
        if func is ATEN.mul.Tensor:
            yield from self._of_product(*args)
        elif func in (ATEN.add.Tensor, ATEN.sub.Tensor):
            yield from self._of_sum(-1.0 if func is ATEN.sub.Tensor else 1.0, *args)
        elif func is ATEN.rsub.Scalar:
            yield from self._of_sum(-1.0, args[1], args[0])
        elif func is ATEN.div.Tensor:
            yield f"{self._named('divisor', args[1])} were left out", partial(_weighted, args[0])
        elif func is ATEN.pow.Tensor_Scalar:
            for power in (args[1] - 1, args[1] + 1):
                yield f"a power of {args[1]:g} were one of {power:g}", partial(pow, args[0], power)
        elif func is ATEN.sqrt.default:
            yield "a root were left out", partial(_weighted, args[0])
        elif func in OF_ONE:
            name = self._name(args[0])
            of = f"{OF_ONE[func]}({name})" if name else OF_ONE[func]
            yield f"the argument of {of} had the other sign", partial(func, -args[0])

    def _of_product(self, first: Any, second: Any) -> Iterator[StepChange]:
        for dropped, kept in ((first, second), (second, first)):
            yield f"{self._named('factor', dropped)} were left out", partial(_weighted, kept)
        for number, other in ((first, second), (second, first)):
            if not isinstance(number, torch.Tensor):
                for words, by in (*TIMES, ("a third as large", 1 / 3), ("three times as large", 3.0)):
                    if number * by != 1:  # it were left out
                        yield f"{number:.6g} were {words}", partial(_weighted, other, number * by)

    def _of_sum(self, sign: float, first: Any, second: Any) -> Iterator[StepChange]:
        """sign: of the second term."""
        former, latter = (self._named("term", value) for value in (first, second))
        sums = partial(_weighted, first=first, second=second)
        yield f"{former} were left out", partial(sums, weight=0.0, other=sign)
        yield f"{latter} were left out", partial(sums, other=0.0)
        added, taken = ("added", "subtracted") if sign > 0 else ("subtracted", "added")
        yield f"{latter} were {taken}, not {added}", partial(sums, other=-sign)
        if sign > 0:
            yield f"{former} were subtracted, not added", partial(sums, weight=-1.0, other=sign)
        for words, by in TIMES:
            yield f"{former} were {words}", partial(sums, weight=by, other=sign)
            yield f"{latter} were {words}", partial(sums, other=by * sign)


def _weighted(first: Any, weight: float = 1.0, second: Any = 0.0, other: float = 1.0) -> Any:
    """weight · first + other · second, without what has the weight 0."""
    return (weight * first if weight else 0.0) + (other * second if other else 0.0)


def changed_steps(compute: Callable[[], Args], named: dict[str, Any]) -> Iterator[tuple[str, Args]]:
    """Every change of one step in words, and what the formula gives then. compute: the formula; named: its arguments.
    None of a formula of more than `STEPS` steps, or of more than `ELEMENTS` elements.
    """
    names = {id(value): name for name, value in named.items() if isinstance(value, torch.Tensor)}
    if sum(t.numel() for t in Tree(tuple(named.values())).tensors) > ELEMENTS:
        return
    with ChangedStep(-1, 0, names) as unchanged:
        compute()
    for number in range(unchanged.steps) if unchanged.steps <= STEPS else ():
        for way in itertools.count():
            values = None
            with ChangedStep(number, way, names) as step, suppress(Exception):  # the next step need not take the change
                values = compute()
            if values is not None and step.words:
                yield step.words, values
            if way + 1 >= step.ways:
                break
