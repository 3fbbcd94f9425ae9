"""Every bug that shipped through the check: which cases see it, and whether the check says whose bug it is.

    python benchmarks/wild.py                 writes benchmarks/wild.md and prints it

It is the function a library shipped, bug for bug. The check gets it as an answer, and nothing tells it which.
"""

import sys
from datetime import date
from pathlib import Path
from typing import NamedTuple

import torch
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.judge import Exercise
from graded_kernels.autograder.judge.records.record import Bug

NOTE = """# Bugs that shipped, through the check

`python benchmarks/wild.py`, {date}, PyTorch {torch}.

Each function a library shipped, and a few common mistakes, given to the check as an answer in PyTorch, and nothing
tells it which. *Fails*: of the needed cases. *Plain*: it passes so many of the cases with plain values, which a bug
that is the point of its exercise should not fail. *Its own case*: the one made to see it. *Missed*: the report does not
name it. *False*: other bugs of the exercise that get its name. Goal: every bug fails, its own case sees it, and the
report names it and no other.

Of {all}: passed {passed}, not seen by their own case {unseen}, not named {missed}. {false} get another one's name, and
{no_plain} pass no plain case.

| bug | exercise | fails | plain | its own case | missed | false |
|---|---|---|---|---|---|---|
{rows}
"""


class Found(NamedTuple):
    """What the check makes of a bug. named: the name that the report gives it. begin: of its row of the table."""

    exercise: Exercise
    bug: Bug
    passed: bool
    seen: bool
    named: str
    plain: int
    begin: str

    @property
    def missed(self) -> bool:
        return self.named != self.bug.named


def found(exercise: Exercise, bug: Bug) -> Found:
    report = check(exercise.name, lambda *args: bug.function(*args), backend="torch")
    needed = [case for case in report.cases if not case.bonus]
    failing = [case.name for case in needed if case.status in ("fail", "error")]
    who = f"{bug.who} ({getattr(bug, 'thread', 'a common mistake')})"
    plain = [case.status == "pass" for case in needed if case.category == "plain"]
    counts = f"{len(failing)} of {len(needed)} | {sum(plain)} of {len(plain)}"
    begin = f"| {who} | {exercise.name} | {counts} | {bug.seen_by}"
    return Found(exercise, bug, report.passed, bug.seen_by in failing, report.source, sum(plain), begin)


def false(bug: Found, everything: list[Found]) -> int:
    """How many other bugs of the exercise get this one's name."""
    others = (one for one in everything if one.exercise is bug.exercise and one.bug is not bug.bug)
    return sum(one.named == bug.bug.named for one in others)


def page() -> str:
    pairs = [(e, bug) for e in EXERCISES.values() if isinstance(e, Exercise) for bug in e.wild]
    all_found = []
    for number, (exercise, bug) in enumerate(pairs, 1):
        print(f"{number}/{len(pairs)} {bug.who}", file=sys.stderr, flush=True)
        all_found.append(found(exercise, bug))
    names = [false(one, all_found) for one in all_found]
    rows = (
        f"{one.begin} | {'yes' * one.missed} | {count or ''} |" for one, count in zip(all_found, names, strict=True)
    )
    return NOTE.format(
        date=date.today(),
        torch=torch.__version__,
        all=len(pairs),
        passed=sum(one.passed for one in all_found),
        unseen=sum(not one.seen for one in all_found),
        missed=sum(one.missed for one in all_found),
        false=sum(names),
        no_plain=sum(not one.plain for one in all_found),
        rows="\n".join(rows),
    )


if __name__ == "__main__":
    text = page()
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")
