"""KernelBench's form: a file with `Model`, `get_inputs` and `get_init_inputs`, and one with `ModelNew`.

https://github.com/ScalingIntelligence/KernelBench
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ...runner import Args, Callee, CandidateError, CompareError, Tree
from ...words import UsageError
from ..records.named import found, named

NEW = "ModelNew"
PARTS = ("Model", "get_inputs", "get_init_inputs")
SMALL = (8, 16, 32)  # the sizes of a problem are not divided below the first of these with which its model runs
MOST = 2**12  # elements of its inputs together


@dataclass(frozen=True)
class Problem:
    """model: the reference, made. arguments: the example, a function of a seed. initial: what models are made with."""

    model: Any
    arguments: Callable[[int], Args]
    initial: Args


def problem(path: str, seed: int) -> Problem:
    """Returns what a problem's file defines. The numbers of the file are halved until its inputs are small, as the
    emulator needs them. Raises UsageError, and CompareError where the model cannot be made.
    """
    _refuse_another_form(path)
    model, inputs, initial = (found(f"{path}:{name}") for name in PARTS)
    _shrink_as_far_as(lambda: model(*initial())(*inputs()), sys.modules[inputs.__module__], inputs)
    initial_arguments = tuple(initial())

    def arguments(seed: int) -> Args:
        return tuple(inputs())

    return Problem(Callee.made(model, initial_arguments, seed), arguments, initial_arguments)


def solution(path: str, initial: Args, seed: int) -> Any:
    """The model of a solution's file, made after the same seed as the problem's. Raises UsageError, CandidateError."""
    try:
        return Callee.made(found(f"{path}:{NEW}"), initial, seed)
    except CompareError as error:
        raise CandidateError(str(error)) from None


def _refuse_another_form(path: str) -> None:
    """Raises UsageError where a file lacks a part of a problem: two files of functions, or of this form exchanged."""
    held = named(f"{path}:__dict__")
    lacking = [name for name in PARTS if name not in held]
    if lacking and NEW in held:
        raise UsageError(f"{path} has {NEW} and no {lacking[0]}: name the file with {', '.join(PARTS)} first")
    if lacking:
        raise UsageError(
            f"{path} has no {lacking[0]}, as KernelBench's form asks of two files: to compare two functions write "
            f"{path}:NAME, and FILE.py:NAME for the other"
        )


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
    sizes = value if isinstance(value, tuple) else (value,)
    return sizes if all(type(size) is int for size in sizes) else ()


def _elements(inputs: Callable[[], Any]) -> int:
    with torch.device("meta"):
        return sum(tensor.numel() for tensor in Tree(tuple(inputs())).tensors)
