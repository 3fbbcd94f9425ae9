"""The example arguments, from which all inputs of a comparison are made."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ...runner import Args, Tree
from .errors import CompareError

SIZES = (0, 1, 7, 33, 129, 1031)  # what a function of a seed and a size is called with
USUAL = 33


@dataclass(frozen=True)
class Example:
    """make: the arguments for a seed and a size. sized: whether it takes a size, and so knows by itself how arguments
    depend on each other: then no tensor's shape or values are changed alone. seeded: whether another seed gives other
    numbers; else they are drawn like those of the one example. keywords: the names of the last arguments, where those
    are given by name.
    """

    make: Callable[[int, int], Args]
    sized: bool = False
    seeded: bool = False
    keywords: tuple[str, ...] = ()


def example_of(arguments: Any) -> Example:
    """The example that ``arguments`` is or makes: a tensor, a tuple of arguments, ``(tuple, dict)`` where some are
    given by name, or a function that returns one of these, of nothing, of a seed, or of a seed and a size. Raises
    CompareError.
    """
    if not callable(arguments):
        given = _checked(arguments)
        return Example(lambda seed, size: given, keywords=_keywords(arguments))
    count = _count(arguments)

    def made(seed: int, size: int) -> Any:
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(seed)
            return arguments(*(seed, size)[:count])

    keywords = _keywords(made(0, USUAL))
    return Example(lambda seed, size: _checked(made(seed, size)), count == 2, True, keywords)


def _keywords(found: Any) -> tuple[str, ...]:
    return tuple(found[1]) if _by_name(found) else ()


def _by_name(found: Any) -> bool:
    """Whether these are the arguments of a call by place, and those by name."""
    return (
        isinstance(found, tuple)
        and len(found) == 2
        and isinstance(found[0], tuple | list)
        and isinstance(found[1], dict)
        and all(isinstance(name, str) for name in found[1])
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


def _checked(found: Any) -> Args:
    args = (found,) if isinstance(found, torch.Tensor) else found
    args = (*found[0], *found[1].values()) if _by_name(found) else args
    if not isinstance(args, tuple | list):
        raise CompareError(f"arguments should be a tensor or a tuple of arguments, not {type(args).__name__}")
    for place, one in enumerate(args):
        if isinstance(one, tuple | dict) and Tree((list(one.values() if isinstance(one, dict) else one),)).tensors:
            raise CompareError(
                f"argument {place} of the example is a {type(one).__name__} of tensors: pass them as a list, or each "
                "as an argument of its own, to a function around yours that makes it"
            )
    if not Tree(tuple(args)).tensors:
        raise CompareError("there is no tensor among the arguments, so nothing would be compared")
    return tuple(args)
