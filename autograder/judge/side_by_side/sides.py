"""Sides of a comparison, by name: ``FILE.py:NAME``, ``package.module:NAME``, or a file in KernelBench's form."""

import inspect
import os
import sys
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from ...runner import CandidateError, CompareError
from ...words import UsageError
from ..records.named import found, named
from .code import Code


@dataclass(frozen=True)
class Sides:
    """reference, candidate: what is called; a candidate that is not trusted is `Code`. arguments: the example, None
    where an exercise gives it.
    """

    reference: Any
    candidate: Any
    arguments: Any


def sides_of(reference: Any, candidate: Any, arguments: Any, like: str | None, seed: int, isolated: bool) -> Sides:
    """Both sides, each as it is or found by its name. Raises CompareError."""
    if isinstance(reference, str) and ":" not in reference:
        return _kernelbench(reference, candidate, arguments is not None or bool(like), seed, isolated)
    return Sides(
        _found(reference) if isinstance(reference, str) else reference,
        _candidate(candidate, isolated),
        _named(arguments) if isinstance(arguments, str) else arguments,
    )


def _kernelbench(problem: str, candidate: Any, more: bool, seed: int, isolated: bool) -> Sides:
    from . import kernelbench

    if more:
        raise CompareError("in KernelBench's form the arguments are those of get_inputs: leave out other arguments")
    if not isinstance(candidate, str | Code) or (isinstance(candidate, str) and ":" in candidate):
        raise CompareError(
            f"{problem} names no function: write {problem}:NAME; or, in KernelBench's form, a file with "
            f"{kernelbench.NEW} beside it"
        )
    try:
        known = kernelbench.problem(problem, seed)
    except UsageError as error:
        raise CompareError(str(error)) from None
    if isinstance(candidate, Code):
        new: Any = Code(candidate.text, kernelbench.NEW, candidate.file, known.initial)
    elif isolated:
        new = Code.read(candidate, kernelbench.NEW, known.initial)
    else:
        try:
            new = kernelbench.solution(candidate, known.initial, seed)
        except UsageError as error:
            raise CandidateError(str(error)) from None
    return Sides(known.model, new, known.arguments)


def _candidate(given: Any, isolated: bool) -> Any:
    if not isinstance(given, str):
        if isolated and not isinstance(given, Code):
            raise CompareError(
                'a candidate that is isolated is named, as in "mine.py:softmax": an object was loaded here'
            )
        return given
    path, _, name = given.rpartition(":")
    if not isolated:
        try:
            return found(given)
        except UsageError as error:
            raise CandidateError(str(error)) from None
    if not path.endswith(".py") or not name.isidentifier():
        raise CandidateError(f"an isolated candidate is a file: write FILE.py:NAME, not {given}")
    return Code.read(path, name)


def _found(text: str) -> Any:
    try:
        return found(text)
    except UsageError as error:
        raise CompareError(str(error)) from None


def _named(text: str) -> Any:
    try:
        return named(text)
    except UsageError as error:
        raise CompareError(str(error)) from None


def word_of(given: Any, variable: str) -> str:
    """``given`` as Python text by which `sides_of` finds it again; else the name of a variable that stands for it."""
    if isinstance(given, str) or given is None:
        return repr(given)
    name, module = getattr(given, "__qualname__", None), sys.modules.get(getattr(given, "__module__", None) or "")
    try:
        if name is None or module is None or attrgetter(name)(module) is not given:
            return variable
        file = inspect.getsourcefile(module)
    except (AttributeError, TypeError):
        return variable
    if file and Path(file).is_relative_to(Path.cwd()):
        return repr(f"{os.path.relpath(file)}:{name}")
    return repr(f"{module.__name__}:{name}") if module.__name__ != "__main__" else variable
