"""Broken answers that the check must reject: one-line patches of ours (`tests/material/mutants`), and wrongs that fit
any exercise.
"""

import functools
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from graded_kernels.autograder.judge import Exercise
from graded_kernels.autograder.runner import Tree


@dataclass(frozen=True)
class Mutant:
    """Our answer with ``old`` (which occurs once) made ``new``: wrong in the way ``why`` says, seen by the case
    ``dies_in``.
    """

    why: str
    old: str
    new: str
    dies_in: str


@functools.cache
def mutants() -> dict[tuple[str, str], tuple[Mutant, ...]]:
    """(exercise, backend) -> its mutants, from every module of ``tests/material/mutants``."""
    found: dict[tuple[str, str], tuple[Mutant, ...]] = {}
    for path in sorted((Path(__file__).parent / "mutants").glob("[a-z]*.py")):
        table = runpy.run_path(str(path))["MUTANTS"]
        found |= {key: tuple(Mutant(*row) for row in rows) for key, rows in table.items()}
    return found


def _results(result) -> tuple:
    return result if isinstance(result, tuple) else (result,)


def _like(result, make: Callable) -> object:
    made = tuple(make(t) for t in _results(result))
    return made if isinstance(result, tuple) else made[0]


def zeros(answer):
    return lambda *args: _like(answer(*args), torch.zeros_like)


def ones(answer):
    return lambda *args: _like(answer(*args), torch.ones_like)


def echo(answer):
    """Hands back its last tensor input, in the shape that is asked for."""

    def broken(*args):
        tensors = [a for a in Tree(args).tensors if a.is_floating_point()] or [torch.ones(())]
        return _like(
            answer(*args), lambda t: tensors[-1].clone() if t.shape == tensors[-1].shape else torch.zeros_like(t)
        )

    return broken


def first_row_only(answer):
    def broken(*args):
        result = answer(*args)
        if not any(t.dim() for t in _results(result)):  # one number: made of the first row alone
            return answer(*Tree(args).map(lambda a: a[:1] if a.dim() else a))
        for t in _results(result):
            if t.dim():
                t[1:].zero_()
        return result

    return broken


def changes_its_input(answer):
    def broken(*args):
        result = answer(*args)
        Tree(args).tensors[0].reshape(-1)[:1].zero_()
        return result

    return broken


def ignores_dy(answer):
    """A backward that was only ever called with a gradient of ones."""
    return lambda dy, *rest: answer(torch.ones_like(dy), *rest)


def wrong_dtype(answer):
    return lambda *args: _like(answer(*args), lambda t: t.double())


def half_precision(answer):
    """Computes float32 in float16 and bfloat16 in float16."""

    def broken(*args):
        half = Tree(args).map(lambda a: a.half() if a.is_floating_point() else a)
        dtypes = [t.dtype for t in _results(answer(*args))]
        results = tuple(t.half().to(d) for t, d in zip(_results(answer(*half)), dtypes, strict=True))
        return results if len(results) > 1 else results[0]

    return broken


def reuses_one_buffer(answer):
    """Keeps the first result of every shape and hands it out again."""
    kept = {}

    def broken(*args):
        result = answer(*args)
        return kept.setdefault(tuple((t.shape, t.dtype) for t in _results(result)), result)

    return broken


def applied(wrong: Callable, answer: Callable, record: Exercise) -> Callable:
    """The answer with this wrong done to it. Of one that writes in place the wrong sees a function that returns what
    the answer writes, and what is made of that is written.
    """
    if not record.writes:
        return wrong(answer)
    made = wrong(lambda *args: record.contract.results_of(answer, args))

    def broken(*args):
        for tensor, value in zip(record.contract.written(args).values(), made(*args), strict=True):
            tensor.copy_(value)

    return broken


GENERAL = (zeros, ones, echo, first_row_only, changes_its_input, reuses_one_buffer)
BACKWARD = (ignores_dy,)
TORCH = (wrong_dtype, half_precision)  # they compute with PyTorch, which a Triton answer may not
RETURNED = (changes_its_input, wrong_dtype)  # what only an answer that writes nothing can do
