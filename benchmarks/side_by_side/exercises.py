"""What `compare` sees without a record: the course's exercises, judged by our own PyTorch answer as the reference.

    python benchmarks/side_by_side/exercises.py [exercise ...]     all by default

For each exercise the example is what its first case calls, the reference is our PyTorch answer (PyTorch's own function
where we have none), and the candidates are our Triton answer, which should pass, and the bugs that shipped and common
mistakes of its record, which should not. What a record knows besides is not used: its other cases, its oracle, its
tolerance.
"""

import argparse
import importlib
import pkgutil
from collections.abc import Callable
from types import ModuleType
from typing import Any

from graded_kernels.autograder import EXERCISES, CompareError, Exercise, compare  # before triton is imported
from graded_kernels.autograder.judge.trial import arguments


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("exercise", nargs="*")
    chosen = parser.parse_args().exercise or list(EXERCISES)
    print("| exercise | our Triton answer | bugs seen | not seen |\n|---|---|---|---|")
    solutions, kernels = (importlib.import_module(f"graded_kernels.{name}") for name in ("solutions", "kernels"))
    seen = total = 0
    for record in (EXERCISES[name] for name in chosen):
        reference = answer(solutions, record.name) or getattr(record, "peer", None)
        if not isinstance(record, Exercise) or reference is None:
            continue
        number = next(n for n, case in enumerate(record.cases) if not case.raises)
        example = arguments(record.cases[number], number, 0)
        ours = answer(kernels, record.name)
        gradients = False if record.name.endswith(("_forward", "_backward")) else None
        right = verdict(reference, ours, example, gradients) if ours else ""
        missed = [bug.who for bug in record.wild if verdict(reference, bug.function, example, gradients) == "passed"]
        seen, total = seen + len(record.wild) - len(missed), total + len(record.wild)
        found = f"{len(record.wild) - len(missed)} of {len(record.wild)}" if record.wild else ""
        print(f"| `{record.name}` | {right} | {found} | {'; '.join(missed)} |", flush=True)
    print(f"\n{seen} of {total} bugs seen.")


def answer(package: ModuleType, name: str) -> Callable[..., Any] | None:
    """Our answer of this name."""
    for module in pkgutil.iter_modules(package.__path__):
        found = getattr(importlib.import_module(f"{package.__name__}.{module.name}"), name, None)
        if callable(found) and found.__module__ == f"{package.__name__}.{module.name}":
            return found
    return None


def verdict(
    reference: Callable[..., Any], candidate: Callable[..., Any], example: tuple[Any, ...], gradients: bool | None
) -> str:
    """``passed``, the families that did not, or why they cannot be compared. gradients: None, or False for what is a
    forward or a backward function already.
    """
    try:
        report = compare(reference, candidate, example, gradients=gradients, compiler=False, any_method=True)
    except CompareError as error:
        return str(error)
    wrong = [case.name for case in report.cases if case.status in ("fail", "error")]
    return "passed" if report.passed else f"fails in {', '.join(wrong)}"


if __name__ == "__main__":
    main()
