"""A verdict of `compare` as a row of a table."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from graded_kernels.autograder import CompareError
from graded_kernels.autograder.judge import Report


@dataclass(frozen=True)
class Verdict:
    """word: passed, fails, not portable (right where masked-off lanes hold 0), or cannot be compared. failing: the
    families, or why. seconds: of the processor.
    """

    word: str
    failing: tuple[str, ...]
    seconds: float
    report: Report | None = None

    def row(self, *first: str) -> str:
        cells = (*first, self.word, ", ".join(self.failing), f"{self.seconds:.0f}")
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def verdict_of(compared: Callable[[], Report]) -> Verdict:
    begin = time.process_time()
    try:
        report = compared()
    except CompareError as error:
        return Verdict("cannot be compared", (str(error),), time.process_time() - begin)
    failing = tuple(case.name for case in report.cases if case.status in ("fail", "error"))
    word = "passed" if report.passed else "not portable" if report.correct else "fails"
    return Verdict(word, failing, time.process_time() - begin, report)
