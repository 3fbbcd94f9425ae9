"""How much of its tolerance a right answer takes, case by case and seed by seed, called directly: without a sandbox, a
compiler or a second run.
"""

import contextlib
import importlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from attacks.submissions import honest
from graded_kernels.autograder.judge import Case, Exercise
from graded_kernels.autograder.judge.comparing.closeness import compare_all, expect
from graded_kernels.autograder.judge.comparing.trial import arguments
from graded_kernels.autograder.runner import Answer as Program
from graded_kernels.autograder.runner import Args, Cell, InProcess, Tree
from graded_kernels.course.regions import BACKENDS, find_regions
from right_answers import right_answers

ROOT = Path(__file__).resolve().parents[2]
MOST = 0.7  # of its tolerance that a right answer may take, at any seed
SMALLER = 8  # the blocks of our kernels, divided by this
SMALLEST = {"BLOCK": 64, "WHOLE": 64, "GROUPS": 4}  # by what they are called


@dataclass(frozen=True)
class Answer:
    """call: gives its outputs. ours: passes the distinctions, too. theirs: PyTorch's, which has other conventions."""

    name: str
    call: Callable[[Args], Args]
    ours: bool = False
    theirs: bool = False


@dataclass
class Margin:
    """The largest share of the tolerance that an answer took, and where."""

    share: float = 0.0
    case: str = ""
    answer: str = ""
    seed: int = 0
    answers: int = 0
    cases: dict[str, float] = field(default_factory=dict)  # the largest of each

    def take(self, share: float, case: str, answer: str, seed: int) -> None:
        self.cases[case] = max(share, self.cases.get(case, 0.0))
        if share > self.share:
            self.share, self.case, self.answer, self.seed = share, case, answer, seed


def margin_of(record: Exercise, backend: str, seeds: range) -> Margin:
    """Of all right answers to an exercise. A case that a seed does not change is drawn for the first one alone, and so
    is one of every value of a half format, of which a seed changes the upstream gradient.
    """
    found = Margin()
    answers = list(answers_to(record, backend))
    found.answers = len(answers)
    fixed = {number for number, case in enumerate(record.cases) if _is_fixed(case, number)}
    for seed, (number, case) in product(seeds, enumerate(record.cases)):
        if case.raises or (seed and number in fixed):
            continue
        args = arguments(case, number, seed)
        expected = expect(record, case, args)
        for answer in answers:
            if (case.bonus and not answer.ours) or (case.convention and answer.theirs):
                continue
            outputs = answer.call(args)
            compared = compare_all(expected, outputs, record.named(args)) if outputs else []
            share = max(math.inf if c.complaint else c.used for c in compared) if compared else math.inf
            found.take(share, case.name, answer.name, seed)
    return found


def _is_fixed(case: Case, number: int) -> bool:
    if case.raises:
        return True
    pairs = list(zip(Tree(arguments(case, number, 0)).leaves, Tree(arguments(case, number, 1)).leaves, strict=True))
    halves = [a for a, _ in pairs if isinstance(a, torch.Tensor) and a.element_size() == 2]
    whole = bool(case.swept) and any(a.numel() >= 2**16 for a in halves)
    return whole or all(_same(a, b) for a, b in pairs)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return torch.equal(a.nan_to_num(), b.nan_to_num()) if a.is_floating_point() else torch.equal(a, b)
    return bool(a == b)


def answers_to(record: Exercise, backend: str) -> Iterator[Answer]:
    """Ours, PyTorch's own function, those of tests/material/honest, ours in smaller blocks, the oracle's formula and
    those of `right_answers`.
    """
    regions = find_regions(ROOT)
    for folder, other in BACKENDS.items():
        if other == backend and backend in record.backends:
            module = importlib.import_module(f"graded_kernels.{folder}.{regions[folder, record.name].path.stem}")
            ours = getattr(module, record.name)
            yield Answer("ours", _called(record, backend, ours), ours=True)
            if backend == "triton" and (sizes := _smaller_blocks(module)):
                yield Answer("ours, smaller blocks", _called(record, backend, _with(sizes, module, ours)))
    for one in honest().values():
        if (one.exercise, one.backend) == (record.name, backend) and "torch.compile" not in one.source:
            function = Program(record.name, (Cell(one.name, one.source),)).load()
            yield Answer(one.name, _called(record, backend, function))
    if backend == "torch":
        if record.peer:
            yield Answer("PyTorch's own", _called(record, backend, record.peer), theirs=True)
        for name, function in [("the oracle in float32", in_float32(record)), *right_answers(record.name)]:
            yield Answer(name, _direct(function))


def in_float32(record: Exercise) -> Callable[..., Args]:
    """The oracle's formula as an answer: on float32, rounded at the end."""

    def formula(*args: Any) -> Args:
        results = Tree.of(record.oracle(*Tree(args).map(lambda a: a.float() if a.is_floating_point() else a))).args
        return tuple(one.to(dtype) for one, dtype in zip(results, record.dtypes(args), strict=True))

    return formula


def _direct(function: Callable[..., Any]) -> Callable[[Args], Args]:
    return lambda args: Tree.of(function(*args)).args


def _called(record: Exercise, backend: str, function: Callable[..., Any]) -> Callable[[Args], Args]:
    """On copies, since it may be anybody's."""
    runner = InProcess(function, record.contract, backend) if backend == "triton" else None
    attached = record.contract.with_gradient(function)

    def call(args: Args) -> Args:
        with contextlib.redirect_stdout(None):
            if runner is None:
                return tuple(one.detach() for one in record.contract.results_of(attached, args))
            outcome = runner.once(args, launches=False)
        return outcome.outputs  # none after a trouble

    return call


def _smaller_blocks(module: ModuleType) -> dict[str, int]:
    sizes = {name: vars(module)[name] for name in SMALLEST if name in vars(module)}
    return {name: max(size // SMALLER, SMALLEST[name]) for name, size in sizes.items() if size > SMALLEST[name]}


def _with(sizes: dict[str, int], module: ModuleType, function: Callable[..., Any]) -> Callable[..., Any]:
    def smaller(*args: Any) -> Any:
        before = {name: vars(module)[name] for name in sizes}
        vars(module).update(sizes)
        try:
            return function(*args)
        finally:
            vars(module).update(before)

    return smaller
