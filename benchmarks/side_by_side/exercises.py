"""What `compare` sees without a record: the course's exercises, judged by our own PyTorch answer as the reference.

    python benchmarks/side_by_side/exercises.py [exercise ...]                         all by default
    python benchmarks/side_by_side/exercises.py [exercise ...] --answers --seeds 20    our answers alone, at many seeds

For each exercise the example is what its first case calls, the reference is our PyTorch answer (PyTorch's own function
where we have none), and the candidates are our Triton answer, which should pass, and the bugs that shipped and common
mistakes of its record, which should not. What a record knows besides is not used: its other cases, its oracle, its
tolerance.
"""

import argparse
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from graded_kernels.autograder import EXERCISES, CompareError, Exercise, compare  # before triton is imported
from graded_kernels.autograder.judge.comparing.trial import arguments


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("exercise", nargs="*")
    parser.add_argument("--answers", action="store_true", help="our Triton answers alone")
    parser.add_argument("--seeds", type=int, default=1, help="of the random inputs, for --answers: 0 to N - 1 (1)")
    options = parser.parse_args()
    chosen = [each for name in options.exercise or EXERCISES if (each := sides(EXERCISES[name]))]
    if options.answers:
        in_rows([each for each in chosen if each.ours], options.seeds)
        return
    print("| exercise | our Triton answer | bugs seen | not seen |\n|---|---|---|---|")
    seen = total = 0
    for each in chosen:
        right, bugs = each.verdict(each.ours) if each.ours else "", each.record.wild
        missed = [bug.who for bug in bugs if not each.verdict(bug.function).startswith("fails")]
        seen, total = seen + len(bugs) - len(missed), total + len(bugs)
        found = f"{len(bugs) - len(missed)} of {len(bugs)}" if bugs else ""
        print(f"| `{each.record.name}` | {right} | {found} | {'; '.join(missed)} |", flush=True)
    print(f"\n{seen} of {total} bugs seen.")


def in_rows(chosen: list["Sides"], seeds: int) -> None:
    print("| exercise | seed | our Triton answer |\n|---|---|---|")
    for seed in range(seeds):
        for each in chosen:
            print(f"| `{each.record.name}` | {seed} | {each.verdict(each.ours, seed)} |", flush=True)


@dataclass(frozen=True)
class Sides:
    """record: what is used of it is its first case. reference, ours: our answers in PyTorch and in Triton."""

    record: Exercise
    reference: Callable[..., Any]
    ours: Callable[..., Any] | None

    def verdict(self, candidate: Callable[..., Any], seed: int = 0) -> str:
        """``passed``, the families that did not, or why they cannot be compared. Gradients are compared but for what is
        a forward or a backward function already.
        """
        number = next(n for n, case in enumerate(self.record.cases) if not case.raises)
        example = arguments(self.record.cases[number], number, 0)
        gradients = False if self.record.name.endswith(("_forward", "_backward")) else None
        how = {"gradients": gradients, "compiler": False, "any_method": True, "seed": seed}
        try:
            report = compare(self.reference, candidate, example, **how)
        except CompareError as error:
            return str(error)
        wrong = [case.name for case in report.cases if case.status in ("fail", "error")]
        return "passed" if report.passed else f"fails in {', '.join(wrong)}"


def sides(record: Any) -> Sides | None:
    """None for what is no function to compare, or has no reference."""
    solutions, kernels = (importlib.import_module(f"graded_kernels.{name}") for name in ("solutions", "kernels"))
    reference = answer(solutions, record.name) or getattr(record, "peer", None)
    if not isinstance(record, Exercise) or reference is None:
        return None
    return Sides(record, reference, answer(kernels, record.name))


def answer(package: ModuleType, name: str) -> Callable[..., Any] | None:
    """Our answer of this name."""
    for module in pkgutil.iter_modules(package.__path__):
        found = getattr(importlib.import_module(f"{package.__name__}.{module.name}"), name, None)
        if callable(found) and found.__module__ == f"{package.__name__}.{module.name}":
            return found
    return None


if __name__ == "__main__":
    main()
