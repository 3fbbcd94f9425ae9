"""KernelBench's form: a file with `Model`, `get_inputs` and `get_init_inputs`, and one with `ModelNew`.

https://github.com/ScalingIntelligence/KernelBench
"""

import sys
from collections.abc import Callable
from typing import Any

import torch

from ..commands.usage import UsageError
from ..run.contract import Args, tensors_of
from ..sanitize.function import found

SMALL = (8, 16, 32)  # the sizes of a problem are not divided below the first of these with which its model runs
MOST = 2**12  # elements of its inputs together


def pair(problem: str, solution: str, seed: int) -> tuple[Any, Any, Callable[[int], Args]]:
    """(the problem's model, the solution's, a function of a seed that returns the arguments). Both models are made
    after the same seed. The numbers of the problem's file are halved until its inputs are small, as the emulator needs
    them. Raises UsageError.
    """
    model, inputs, initial = (found(f"{problem}:{name}") for name in ("Model", "get_inputs", "get_init_inputs"))
    new = found(f"{solution}:ModelNew")
    _shrink_as_far_as(lambda: model(*initial())(*inputs()), sys.modules[inputs.__module__], inputs)

    def made(kind: Callable[..., Any]) -> Any:
        torch.manual_seed(seed)
        try:
            return kind(*initial())
        except Exception as error:
            raise UsageError(f"{kind.__name__} cannot be made: {type(error).__name__}: {error}") from None

    def arguments(seed: int) -> Args:
        return tuple(inputs())

    return made(model), made(new), arguments


def _shrink_as_far_as(runs: Callable[[], Any], module: Any, inputs: Callable[[], Any]) -> None:
    """Makes the sizes of a module smaller, but not so small that ``runs`` raises, as a window larger than its image."""
    for small in SMALL:
        before = dict(vars(module))
        _shrink(module, inputs, small)
        try:
            with torch.no_grad():
                runs()
        except Exception:  # what a model of anybody's raises
            vars(module).update(before)
        else:
            return


def _shrink(module: Any, inputs: Callable[[], Any], small: int) -> None:
    """Halves the largest numbers of a module until what ``inputs`` makes has at most `MOST` elements."""
    while _elements(inputs) > MOST:
        most = max((size for value in vars(module).values() for size in _sizes(value)), default=small)
        if most <= small:
            return
        for name, value in list(vars(module).items()):
            if most in _sizes(value):
                less = tuple((size + 1) // 2 if size == most else size for size in _sizes(value))
                setattr(module, name, less if isinstance(value, tuple) else less[0])


def _sizes(value: object) -> tuple[int, ...]:
    """The sizes that a number of the module is, or a tuple of numbers, such as a shape."""
    found = value if isinstance(value, tuple) else (value,)
    return found if all(type(size) is int for size in found) else ()


def _elements(inputs: Callable[[], Any]) -> int:
    with torch.device("meta"):
        return sum(tensor.numel() for tensor in tensors_of(tuple(inputs())))
