"""Mistakes that learners make, in answers of their own kind: plainer than ours, of which the mutants are patches.

For each subject of each family of cases there are at least three mistakes, mutants included, of which a case about it
is the one that a learner reads first (`tests/judge/test_hints.py`).
"""

from collections.abc import Iterator

from broken import mutants
from graded_kernels.autograder.judge import EXERCISES, Case

from .arithmetic import ARITHMETIC
from .calls import CALLS
from .kernels import KERNELS
from .mistake import Mistake

MISTAKES: tuple[Mistake, ...] = (*ARITHMETIC, *CALLS, *KERNELS)


def read_first() -> Iterator[Case]:
    """The case that its learner reads first, of every mistake and mutant that is not about a measurement."""
    first = [(exercise, row.dies_in) for (exercise, _), rows in mutants().items() for row in rows]
    first += [(mistake.exercise, mistake.case) for mistake in MISTAKES]
    cases = {(name, case.name): case for name, record in EXERCISES.items() for case in getattr(record, "cases", ())}
    yield from (cases[one] for one in first if one in cases)
