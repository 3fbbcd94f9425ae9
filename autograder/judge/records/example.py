"""The example arguments, from which all inputs of a comparison are made."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ...runner import Args, CallForm, CompareError, Tree

SIZES = (0, 1, 7, 33, 129, 1031)  # what a function of a seed and a size is called with
USUAL = 33


@dataclass(frozen=True)
class Example:
    """make: the arguments for a seed and a size. sized: whether it takes a size, and so knows by itself how arguments
    depend on each other: then no tensor's shape or values are changed alone. seeded: whether another seed gives other
    numbers; else they are drawn like those of the one example. form: of a call with them, which says how its arguments
    are put together of those that are made.
    """

    make: Callable[[int, int], Args]
    sized: bool = False
    seeded: bool = False
    form: CallForm | None = None


def example_of(arguments: Any) -> Example:
    """The example that ``arguments`` is or makes: a tensor, a tuple of arguments, a dict of arguments by name, or
    ``(tuple, dict)`` where some are given by name; or a function that returns one of these, of nothing, of a seed, or
    of a seed and a size. Raises CompareError.
    """
    if not callable(arguments):
        form, args = _taken_apart(arguments)
        return Example(lambda seed, size: args, form=form)
    count = _count(arguments)

    def made(seed: int, size: int) -> Any:
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(seed)
            return arguments(*(seed, size)[:count])

    form, _ = _taken_apart(made(0, USUAL))

    def make(seed: int, size: int) -> Args:
        here, args = _taken_apart(made(seed, size))
        if here != form:
            raise CompareError(f"the arguments of size {size} are put together in another way than those of {USUAL}")
        return args

    return Example(make, count == 2, True, form)


def _by_name(value: Any) -> bool:
    """Returns whether these are the arguments of a call by place, and those by name."""
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[0], tuple | list)
        and isinstance(value[1], dict)
        and all(isinstance(name, str) for name in value[1])
    )


def _count(function: Callable[..., Any]) -> int:
    try:
        inspect.signature(function).bind(*range(2))
        return 2
    except TypeError:
        pass
    for count in (1, 0):
        try:
            inspect.signature(function).bind(*range(count))
            return count
        except TypeError:
            continue
    raise CompareError("arguments should be a function of nothing, of a seed, or of a seed and a size")


def _taken_apart(value: Any) -> tuple[CallForm, Args]:
    """Returns how the arguments are put together, and of what."""
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        value = ((), value)
    args, by_name = value if _by_name(value) else (value, {})
    args = (args,) if isinstance(args, torch.Tensor) else args
    if not isinstance(args, tuple | list):
        raise CompareError(f"arguments should be a tensor or a tuple of arguments, not {type(args).__name__}")
    try:
        form, leaves = CallForm.taking(tuple(args), by_name)
    except ValueError as error:
        raise CompareError(str(error)) from None
    if not Tree(leaves).tensors:
        raise CompareError("there is no tensor among the arguments, so nothing would be compared")
    return form, leaves
