"""The lines of Python that make a failing call again."""

from dataclasses import dataclass
from typing import Any

from ..results.case_result import CaseResult
from .code import Code
from .pair import How
from .sides import word_of

IMPORT = "from graded_kernels.autograder.judge.side_by_side import {function}"
LINES = IMPORT + "\nargs, actual, expected = {function}({call})\nprint({shown})"


@dataclass(frozen=True)
class Lines:
    """Holds what `compare` was called with. What has no name is a variable in the lines: `reference`, `candidate` and
    `arguments` then stand for what was handed to `compare`.
    """

    reference: Any
    candidate: Any
    arguments: Any
    like: str | None
    without: tuple[str, ...]
    how: How

    def of(self, case: CaseResult, number: int, outputs: tuple[str, ...]) -> str:
        """Three lines; the last shows the worst element as the candidate and as the reference gives it. "" for a
        candidate that is text.
        """
        if isinstance(self.candidate, Code):
            return ""
        call = [word_of(self.reference, "reference"), word_of(self.candidate, "candidate")]
        call += [word_of(self.arguments, "arguments")] if self.arguments is not None else []
        call += [f"family={case.name!r}", f"number={number}"]
        call += [f"like={self.like!r}"] if self.like else []
        call += [f"without={self.without!r}"] if self.without else []
        call += [f"gradients={self.how.gradients}"] if self.how.gradients is not None else []
        call += ["isolated=True"] if self.how.isolated else []
        return LINES.format(function="reproduce", call=", ".join(call), shown=shown(case, outputs))


@dataclass(frozen=True)
class JobLines:
    """Of a job in a table. id: the job's. isolated: whether the table was read so."""

    table: str
    id: str | int
    isolated: bool

    def of(self, case: CaseResult, number: int, outputs: tuple[str, ...]) -> str:
        """As `Lines.of`."""
        call = [repr(self.table), repr(self.id), f"family={case.name!r}", f"number={number}"]
        call += ["isolated=True"] if self.isolated else []
        return LINES.format(function="reproduce_job", call=", ".join(call), shown=shown(case, outputs))


def shown(case: CaseResult, outputs: tuple[str, ...]) -> str:
    """Returns what the last line prints."""
    if case.failure is None or case.failure.output not in outputs:
        return "actual, expected"
    place = f"[{outputs.index(case.failure.output)}]"
    place += f"[{', '.join(map(str, case.failure.index))}]" if case.failure.index else ""
    return f"actual{place}, expected{place}"
