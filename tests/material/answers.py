"""Our own answers as text, whole or with one line changed, in the form in which a learner's answer reaches the
check.
"""

import ast
import functools
import importlib
import pkgutil
from pathlib import Path

import torch
from graded_kernels.autograder import check
from graded_kernels.autograder.judge import EXERCISES
from graded_kernels.autograder.runner import Answer, Call, Cell, Examined, Facts, Outcome, Tree, Trouble
from graded_kernels.autograder.runner.call.huge_strides import duplicate
from graded_kernels.course.regions import BACKENDS, Region, find_regions

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {backend: folder for folder, backend in BACKENDS.items()}
SETUP = Cell("setup", "import math\n\nimport torch\nimport triton\nimport triton.language as tl\n")

PAIRS = [(name, backend) for name, record in EXERCISES.items() for backend in record.backends]


@functools.cache
def regions() -> dict[tuple[str, str], Region]:
    return find_regions(ROOT)


def answer(exercise: str, backend: str, old: str = "", new: str = "") -> Answer:
    """The answer with every answer it builds on before it. ``old``, which must occur exactly once, becomes ``new``."""
    region = regions()[FOLDERS[backend], exercise]
    source = region.source
    if old:
        assert source.count(old) == 1, f"{exercise} ({backend}): {old!r} occurs {source.count(old)} times, not once"
        source = source.replace(old, new)
    before = [SETUP, *(Cell(f"{r.name}-{backend}", r.source) for r in _needed(region))]
    return Answer(exercise, (*before, Cell(f"{exercise}-{backend}", source)))


def our_answer(exercise: str, backend: str):
    """The function of this name in ``solutions`` or ``kernels``. Raises LookupError where there is none."""
    package = importlib.import_module(f"graded_kernels.{FOLDERS[backend]}")
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        function = getattr(importlib.import_module(module.name), exercise, None)
        if callable(function) and getattr(function, "__module__", "") == module.name:
            return function
    raise LookupError(f"{package.__name__} has no {exercise}")


class Unwatched:
    """A runner of a function that may call what an answer may not: PyTorch's own, say."""

    facts = Facts()

    def __init__(self, function):
        self.function = function

    def examine(self, call: Call) -> Examined:
        copies = (duplicate(a) if isinstance(a, torch.Tensor) else a for a in call.args)
        try:
            outcome = Outcome(outputs=tuple(one.detach() for one in Tree.of(self.function(*copies)).args))
        except IndexError as error:
            outcome = Outcome(trouble=Trouble("raised", str(error), error=type(error).__name__))
        return Examined(call, outcome)


@functools.cache  # a file is parsed once, however many tests ask for its answers
def _needed(region: Region) -> list[Region]:
    """The regions of exercises above this one in its file, and in the files of its folder that this file imports
    from.
    """
    tree = ast.parse(region.path.read_text(encoding="utf-8"))
    siblings = [n.module for n in tree.body if isinstance(n, ast.ImportFrom) and n.level == 1]
    files = [region.path.with_name(f"{name}.py") for name in siblings] + [region.path]
    mine = [r for r in regions().values() if r.path in files and r.name in EXERCISES]
    mine.sort(key=lambda r: (files.index(r.path), r.line))
    return [r for r in mine if r.path != region.path or r.line < region.line]


def verdict(function, exercise="silu_forward"):
    report = check(exercise, function, backend="torch")
    return report, report.cases[0]
