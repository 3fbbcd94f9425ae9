"""The counter of a loop, as Triton's compiler has it: a tensor, of 64 bits where a bound has them."""

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from . import offsets


def span(arg1: Any, arg2: Any = None, step: Any = None, **hints: Any) -> range:
    """`tl.range`, without what it tells the compiler. Not the interpreter's, which is `tl.static_range` as well."""
    start, stop = (0, arg1) if arg2 is None else (arg1, arg2)
    return range(start, stop, 1 if step is None else step)


def counted(function: Callable[..., Any], *bounds: Any, **named: Any) -> Any:
    """The values that a loop runs over, once all programs agree on their number. The counter of `range` and `tl.range`
    is a tensor, that of `tl.static_range` a constant.
    """
    if function is not range and function is not span:
        return function(*bounds, **named)
    counters = counter(function, bounds, named)
    builder = interpreter.interpreter_builder
    return counters.values(int(counters.rounds[0]) if counters.rounds.size == 1 else builder.decide(counters.rounds))


class Counter(NamedTuple):
    """The counter of `range` or `tl.range`. start, step, rounds: one number for all programs, or one for each.

    mark: how large it could become (`offsets`).
    """

    start: np.ndarray
    step: np.ndarray
    rounds: np.ndarray
    dtype: tl.dtype
    mark: int

    def at(self, number: int) -> tl.tensor:
        """Its value in a round, of which the first is number 0."""
        numbers = self.start + number * self.step
        if numbers.size > 1:
            numbers = _one_if_equal(interpreter.interpreter_builder.programs.sound(numbers))
        word = np.int64 if self.dtype == tl.int64 else np.int32
        handle = interpreter.TensorHandle(numbers.astype(word), self.dtype)
        return tl.tensor(offsets.mark(handle, self.mark), self.dtype)

    def values(self, rounds: int) -> Iterator[tl.tensor]:
        """Its values in so many rounds."""
        return (self.at(number) for number in range(rounds))

    def of(self, rows: np.ndarray) -> "Counter":
        """The counter of some of the programs."""
        start, step, rounds = (each if each.size == 1 else each[rows] for each in self[:3])
        return self._replace(start=start, step=step, rounds=rounds)


def counter(function: Callable[..., Any], bounds: tuple[Any, ...], named: dict[str, Any]) -> Counter:
    """The counter of `range` or `span`. Raises ValueError for a bound that is a block, and what Python raises for one
    that is no integer, or a step of 0.
    """
    tensors = [bound for bound in (*bounds, *named.values()) if isinstance(bound, tl.tensor)]
    for bound in tensors:
        if bound.type.is_block():
            raise ValueError(
                f"a block of shape {tuple(bound.type.shape)} is no bound of a loop, and Triton cannot compile one; "
                "loop to one number, as `tl.max` of it, and mask the lanes that have ended"
            )
    limits = _of_several(*bounds, **named) if any(tensor.handle.data.size > 1 for tensor in tensors) else None
    if limits is None:
        agreed = function(*bounds, **named)
        limits = tuple(np.array([bound]) for bound in (agreed.start, agreed.stop, agreed.step))
    start, stop, step = limits
    wide = any(abs(bound).max() >= 2**31 for bound in limits) or any(
        bound.dtype.primitive_bitwidth > 32 for bound in tensors
    )
    mark = functools.reduce(offsets.total, (offsets.quotient(offsets.kind_of(bound.handle)) for bound in tensors), 0)
    rounds = _one_if_equal(np.maximum(-((start - stop) // step), 0))
    return Counter(start, step, rounds, tl.int64 if wide else tl.int32, mark)


def _of_several(arg1: Any, arg2: Any = None, step: Any = 1, **hints: Any) -> tuple[np.ndarray, ...] | None:
    """Bounds that programs may each have of their own, as in ``range(pid * ROWS, (pid + 1) * ROWS)``. None where Python
    is to say what a bound may not be.
    """
    bounds = [0 if arg2 is None else arg1, arg1 if arg2 is None else arg2, 1 if step is None else step]
    if any(isinstance(bound, tl.tensor) and not bound.dtype.is_int() for bound in bounds):
        return None
    programs = interpreter.interpreter_builder.programs
    limits = tuple(_one_if_equal(programs.sound(_numbers(bound))) for bound in bounds)
    return limits if limits[2].all() else None


def _numbers(bound: Any) -> np.ndarray:
    if not isinstance(bound, tl.tensor):
        return np.array([operator.index(bound)])
    numbers: np.ndarray = bound.handle.data.reshape(-1)
    return numbers.astype(np.int64)


def _one_if_equal(numbers: np.ndarray) -> np.ndarray:
    return numbers[:1] if (numbers == numbers[0]).all() else numbers
