"""An instructor's file of cases, tried on the course's own answers before a class gets it: a case that they fail is
too hard, or its input is wrong.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..exercises import find
from ..exercises.record import Exercise
from ..judge.judge import judge
from ..run.runner import InProcess
from .hidden import NAME, read_cases

ANSWERS = {"torch": "graded_kernels.solutions", "triton": "graded_kernels.kernels"}


@dataclass(frozen=True)
class Tried:
    """The result of one case and one of our answers. detail: the error in ulp if it passed, or what is wrong."""

    exercise: str
    case: str
    backend: str
    passed: bool
    detail: str
    inputs: str


def try_cases(path: Path, progress: Callable[[str], None] = lambda line: None) -> Iterator[Tried]:
    """Tries every case in the file at ``path`` on our answer in every backend. Raises HiddenCasesError.

    progress: called with a line about what is tried next, since a case may take long in the emulator.
    """
    for name, cases in read_cases(path).items():
        record = find(name)
        if not isinstance(record, Exercise):
            raise LookupError(f"{name} has no cases to add to")
        open_cases = tuple(replace(case, name=case.name.removeprefix(NAME), hidden=False) for case in cases)
        for backend in record.backends:
            runner = InProcess(our_answer(name, backend), record.contract, backend)
            progress(f"Trying {len(cases)} of your cases on our answer to {name} ({backend}).")
            report = judge(replace(record, cases=open_cases), backend, runner, compiler=False)
            for result in report.cases[: len(cases)]:
                yield Tried(name, result.name, backend, result.status == "pass", result.message, result.inputs)


def our_answer(exercise: str, backend: str) -> Callable[..., Any]:
    """The function of this name in ``solutions`` or ``kernels``. Raises LookupError where there is none."""
    package = importlib.import_module(ANSWERS[backend])
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        function: Callable[..., Any] | None = getattr(importlib.import_module(module.name), exercise, None)
        if callable(function) and getattr(function, "__module__", "") == module.name:
            return function
    raise LookupError(f"{package.__name__} has no {exercise}")
