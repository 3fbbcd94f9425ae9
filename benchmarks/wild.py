"""Every wild bug through the check: which cases see it, and whether the check says whose bug it is.

    python benchmarks/wild.py                 writes benchmarks/wild.md and prints it

A wild bug is the function a library shipped, bug for bug. The check gets it as an answer, and nothing tells it which.
"""

import sys
from pathlib import Path

import torch
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.exercises.record import Bug, Exercise

SHOWN = 4  # names of failing cases in a row
HEADER = "| wild bug | exercise | cases it fails | fingerprint |"
NOTE = """# Wild bugs

Each function a library shipped, and a few common mistakes, given to the check as an answer in PyTorch. In bold the
case made to see it, where it does; distinctions do not count. Fingerprint: whether the report names this bug.

Made by `python benchmarks/wild.py` with PyTorch {torch}.
"""


def seen(exercise: Exercise, bug: Bug) -> str:
    """A row of the table."""
    report = check(exercise.name, lambda *args: bug.function(*args), backend="torch")
    needed = [case for case in report.cases if not case.bonus]
    failing = [case.name for case in needed if case.status in ("fail", "error")]
    names = [f"**{name}**" for name in failing if name == bug.seen_by]
    names += [name for name in failing if name != bug.seen_by]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    named = "this bug" if report.source == bug.named else report.source or "none"
    cases = f"{len(failing)} of {len(needed)}: {', '.join(names[:SHOWN])}{more}" if failing else "none"
    return f"| {bug.who} ({getattr(bug, 'thread', 'a common mistake')}) | {exercise.name} | {cases} | {named} |"


def page() -> str:
    pairs = [(e, bug) for e in EXERCISES.values() if isinstance(e, Exercise) for bug in e.wild]
    lines = [NOTE.format(torch=torch.__version__), HEADER, "|---|---|---|---|"]
    for number, (exercise, bug) in enumerate(pairs, 1):
        print(f"{number}/{len(pairs)} {bug.who}", file=sys.stderr, flush=True)
        lines.append(seen(exercise, bug))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = page()
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")
