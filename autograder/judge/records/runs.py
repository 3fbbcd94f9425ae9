"""Several runs of one formula, each with roundings of its own: one after the other, or all at once.

At once, the formula is called with its exact arguments, and each tensor that it makes has a stack beside it: what it
would be in each run. The stack lies as the tensor does, storage for storage, so that views and what is written in place
need no code. Sixteen runs of small tensors take little longer than one, since an operator's time is its call's.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ...gpu import ATEN
from .borrowed import schema

ROOM = 2**24  # numbers of all stacks: 128 MB
SMALL = 2**14  # numbers of the arguments: from twice as many on, all at once takes longer than one after the other
# Operators whose tensors broadcast: one call with the runs as the first dimension is one of each run.
BROADCAST = ATEN.pointwise - ATEN.rearrange
BROADCAST -= frozenset(
    "gather index index_select cat stack tril triu flip roll constant_pad_nd repeat select_backward slice_backward "
    "arange masked_fill equal allclose isin polar complex frexp mvlgamma".split()
)


class Draws:
    """Holds what an argument or a result is in each of several runs: a stack of tensors, or a number each."""

    def __init__(self, values: Any):
        self.values = values

    def like(self, rank: int) -> Tensor:
        """The runs first, then as many dimensions as broadcast with tensors of ``rank``."""
        values = self.values if isinstance(self.values, Tensor) else torch.tensor(self.values, dtype=torch.float64)
        return values.reshape(values.shape[0], *(1,) * (rank + 1 - values.dim()), *values.shape[1:])


class PartedError(Exception):
    """The runs cannot go together: a number of a tensor, or a shape, is another one in each."""


class Alone:
    """One run, whose tensors are those that the formula sees."""

    count = 1

    def given(self, value: Any) -> Any:
        """An argument of an operator: `Draws` where it differs from run to run, the value itself otherwise."""
        return Draws(value.unsqueeze(0)) if isinstance(value, Tensor) else value

    def call(self, func: Any, name: str, exact: Any, own: Any) -> tuple[Any, Any]:
        """Returns what the formula sees of an operator's result, and the result in each run. exact: the operator's
        arguments, positional ones and those by name. own: the same in each run.
        """
        args, kwargs = of_run(0, own)
        seen = func(*args, **kwargs)
        return seen, stacked([seen])

    def keep(self, seen: Any, drawn: Any) -> Any:
        """The result as the formula gets it."""
        return of_run(0, drawn)

    def write(self, changed: Tensor, new: Tensor) -> Tensor:
        """Stores what is computed in place."""
        return changed.copy_(new)

    def change(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Calls an operator that writes into its arguments."""
        return func(*args, **kwargs)

    def view(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        """Calls an operator that returns a view, or a copy where there is none, as ``contiguous`` does."""
        return func(*args, **kwargs)


class Together(Alone):
    """``count`` runs of a formula that sees exact numbers. A number that it reads of a tensor, and any shape, has to be
    the same in all runs: where it is not, PartedError is raised, and ``parted`` set, whatever the formula makes of it.
    """

    def __init__(self, count: int):
        self.count = count
        self.parted = False
        self._room = ROOM
        self._stacks: dict[int, tuple[Tensor, Tensor]] = {}  # by a storage's memory, which the second one keeps

    def given(self, value: Any) -> Any:
        return Draws(self._stack(value)) if isinstance(value, Tensor) and self._has(value) else value

    def call(self, func: Any, name: str, exact: Any, own: Any) -> tuple[Any, Any]:
        seen = func(*exact[0], **exact[1])
        if not any(isinstance(value, Draws) for value in leaves(own)):
            return seen, seen
        if is_random(func):  # each run draws the same numbers where it is the only one
            raise self._part()
        drawn = _broadcast(func, own, seen) if name in BROADCAST else None
        if drawn is None:
            runs = [of_run(run, own) for run in range(self.count)]
            results = [func(*args, **kwargs) for args, kwargs in runs]
            if not all(_alike(seen, result) for result in results):
                raise self._part()
            drawn = stacked(results)
        return seen, drawn

    def keep(self, seen: Any, drawn: Any) -> Any:
        for value, draws in zip(leaves(seen), leaves(drawn), strict=True):
            if isinstance(draws, Draws) and self._memory(value) not in self._stacks:  # no view of an argument
                self._store(value, draws.values)
        return seen

    def write(self, changed: Tensor, new: Tensor) -> Tensor:
        self._apart(changed).copy_(stack_of(self.given(new), self.count))
        return changed.copy_(new)

    def change(self, func: Any, args: Any, kwargs: Any) -> Any:
        if any(isinstance(value, Tensor) and self._has(value) for value in leaves((args, kwargs))):
            for number, argument in enumerate(schema(func).arguments):
                value = args[number] if number < len(args) else kwargs.get(argument.name, ())
                for tensor in leaves(value) if argument.is_write else ():
                    self._apart(tensor)
            originals = each(self.given, (args, kwargs))
            for run in range(self.count):
                run_args, run_kwargs = of_run(run, originals)
                func(*run_args, **run_kwargs)
        return func(*args, **kwargs)

    def view(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        seen = func(*args, **kwargs)
        there = {self._memory(value) for value in leaves((args, kwargs)) if isinstance(value, Tensor)}
        if all(self._memory(value) in there for value in leaves(seen)):
            return seen
        return self.keep(*self.call(func, name, (args, kwargs), each(self.given, (args, kwargs))))

    def _memory(self, value: Tensor) -> int:
        if value.layout != torch.strided:
            raise self._part()
        return value.untyped_storage().data_ptr()

    def _has(self, value: Tensor) -> bool:
        return value.numel() > 0 and self._memory(value) in self._stacks

    def _stack(self, value: Tensor) -> Tensor:
        stored, owner = self._stacks[self._memory(value)]
        if stored.dtype != value.dtype or _size(owner) != _size(value):
            raise self._part()
        return stored.as_strided((self.count, *value.shape), (_size(value), *value.stride()), value.storage_offset())

    def _apart(self, value: Tensor) -> Tensor:
        """The stack of a tensor that is about to be written, and has been the same in all runs so far."""
        if value.numel() and not self._has(value):
            whole = value.as_strided((_size(value),), (1,), 0)
            self._store(whole, whole.expand(self.count, -1))
        return stack_of(self.given(value), self.count)

    def _store(self, value: Tensor, stack: Tensor) -> None:
        if not value.numel():
            return
        size = _size(value)
        self._room -= self.count * size
        if self._room < 0 or stack.dtype != value.dtype:
            raise self._part()
        stored = torch.empty(self.count, size, dtype=value.dtype)
        stored.as_strided((self.count, *value.shape), (size, *value.stride()), value.storage_offset()).copy_(stack)
        self._stacks[self._memory(value)] = (stored, value)

    def _part(self) -> PartedError:
        self.parted = True
        return PartedError("the runs of this formula are taken one after the other")


def is_random(func: Any) -> bool:
    """Returns whether an operator draws numbers: what it returns is exact, and another call returns another result."""
    return torch.Tag.nondeterministic_seeded in func.tags


def each(change: Callable[[Any], Any], values: Any) -> Any:
    """Arguments or results, each changed, in the lists, tuples and dicts in which operators have them."""
    if type(values) in (list, tuple):
        return type(values)([each(change, value) for value in values])
    if type(values) is dict:
        return {key: each(change, value) for key, value in values.items()}
    return change(values)


def leaves(values: Any) -> list[Any]:
    """The arguments or results, one after the other."""
    flat: list[Any] = []
    each(flat.append, values)
    return flat


def of_run(run: int, values: Any) -> Any:
    """The arguments or results in one run."""
    return each(lambda leaf: leaf.values[run] if isinstance(leaf, Draws) else leaf, values)


def stacked(results: list[Any]) -> Any:
    """The results of the runs, each tensor as `Draws`."""
    first, *rest = results
    if type(first) in (list, tuple):
        return type(first)([stacked(list(parts)) for parts in zip(*results, strict=True)])
    if not isinstance(first, Tensor):
        return first
    return Draws(torch.stack(results) if rest else first.unsqueeze(0))


def stack_of(value: Any, count: int) -> Tensor:
    """An argument or a result as the stack of its runs."""
    stack: Tensor = value.values if isinstance(value, Draws) else value.unsqueeze(0).expand(count, *value.shape)
    return stack


def _broadcast(func: Any, arguments: Any, seen: Any) -> Draws | None:
    """An operator of each run's elements in one call; None where it has to be called for each."""
    args, kwargs = arguments
    if not isinstance(seen, Tensor) or any(isinstance(value, Draws) for value in leaves(kwargs)):
        return None
    numbers = any(isinstance(value, Draws) and isinstance(value.values, list) for value in args)
    try:
        result = (func.overloadpacket if numbers else func)(
            *(value.like(seen.dim()) if isinstance(value, Draws) else value for value in args), **kwargs
        )
    except (RuntimeError, TypeError):  # an overload that takes no tensor there
        return None
    return Draws(result) if result.shape[1:] == seen.shape and result.dtype == seen.dtype else None


def _alike(seen: Any, result: Any) -> bool:
    """Returns whether a run's result has the exact one's shapes, and the numbers that are no tensors."""
    pairs = zip(leaves(seen), leaves(result), strict=True)
    return all(first.shape == second.shape if isinstance(first, Tensor) else first == second for first, second in pairs)


def _size(value: Tensor) -> int:
    return value.untyped_storage().nbytes() // value.element_size()
