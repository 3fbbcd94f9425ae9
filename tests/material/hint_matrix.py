"""Mistake, first failing case, hint: ``python tests/material/hint_matrix.py [EXERCISE ...]`` prints what they read.

To be looked at after a change of hints: a hint must hold whatever the mistake, and name no cause that it does not have.
The mistakes are the mutants (``tests/material/mutants``) and the common ones of ``tests/material/mistakes``.
"""

import sys
import textwrap
from collections.abc import Iterator

from answers import answer
from broken import mutants
from graded_kernels.autograder.judge import Settings
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.runner import Answer
from mistakes import MISTAKES


def mistakes() -> Iterator[tuple[str, str, str, Answer]]:
    """(exercise, backend, why, answer)."""
    for (name, backend), rows in mutants().items():
        for mutant in rows:
            yield name, backend, mutant.why, answer(name, backend, mutant.old, mutant.new)
    for mistake in MISTAKES:
        yield mistake.exercise, mistake.backend, mistake.why, mistake.answer


def main(names: list[str]) -> None:
    for name, backend, why, wrong in mistakes():
        if names and name not in names:
            continue
        report = check_answer(wrong, Settings(backend, compiler=False))
        print(f"\n{name} ({backend}): {why}")
        if report.passed:
            print("    passes")
            continue
        case = report.causes[0].cases[0]
        also = ", ".join(one.name for one in report.causes[0].cases[1:6])
        lines = [f"case: {case.name} (also {also})", f"says: {case.message}", f"hint: {case.hint}"]
        if report.source:
            lines.append(f"bug:  {report.source}")
        print("\n".join(textwrap.fill(line, 150, initial_indent=" " * 4, subsequent_indent=" " * 10) for line in lines))


if __name__ == "__main__":
    main(sys.argv[1:])
