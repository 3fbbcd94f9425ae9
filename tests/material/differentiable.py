"""A record's function as one differentiates it: its arguments in float64, and those that have a gradient."""

from collections.abc import Callable, Iterator
from math import inf
from typing import Any

import torch
from graded_kernels.autograder.judge import EXERCISES, Exercise
from graded_kernels.autograder.judge.comparing.trial import arguments
from graded_kernels.autograder.runner import Tree

LARGEST = 2**17  # numbers in the arguments of a case


def in_float64(args: tuple) -> tuple:
    """With 0 for NaN, of which a gradient is a convention."""
    return Tree(args).map(lambda a: a.double().nan_to_num(0.0, inf, -inf) if a.is_floating_point() else a)


def inputs_with_gradients(record: Exercise) -> list[str]:
    """The inputs of the function whose gradients are among the record's outputs: ``x`` for ``dx``."""
    function, outputs = record.forward or record, {output.name for output in record.outputs}
    return [name for name in function.parameters if f"d{name}" in outputs]


def backward_of(forward: Exercise) -> Exercise:
    found = [one for one in EXERCISES.values() if isinstance(one, Exercise) and one.forward is forward]
    assert found, f"{forward.name} has a differentiable function, and no record has forward={forward.name}"
    return found[0]


def outputs_of(record: Exercise, results: Any) -> dict[str, torch.Tensor]:
    """What an answer returns, by the names of the record's outputs."""
    return dict(zip((output.name for output in record.outputs), Tree.of(results).args, strict=True))


def calls(function: Exercise) -> Iterator[tuple[str, tuple]]:
    """The name and the arguments of each case in which the function has a result."""
    for number, case in enumerate(function.cases):
        args = () if case.raises else arguments(case, number, seed=0)
        if args and sum(a.numel() for a in Tree(args).tensors) <= LARGEST:
            yield case.name, args


def call_named(function: Exercise, name: str, change: Callable[[tuple], tuple] = lambda args: args) -> dict[str, Any]:
    """The arguments of the case of this name, changed, by the names of the parameters."""
    number = [case.name for case in function.cases].index(name)
    return dict(zip(function.parameters, change(arguments(function.cases[number], number, seed=0)), strict=False))
