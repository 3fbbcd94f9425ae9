"""``graded-kernels check EXERCISE A.py B.py ...``: a line for each file as it is checked, and a table at the end."""

import argparse
import contextlib
import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ...words import Exit, UsageError, keep_stdout, visible
from ..verdicts.make_all import make_all
from .one_file import limits_of, record_of, report_on, started, wanted_of

if TYPE_CHECKING:
    from ...runner import Worker
    from ..records.record import Exercise, Witness
    from ..report.report import Report


@dataclass(frozen=True)
class Checked:
    """One file's result. report: None where the file could not be checked; ``problem`` says why."""

    file: Path
    report: "Report | None"
    problem: str = ""

    @property
    def verdict(self) -> str:
        """``passed``, ``not passed`` or ``not checked``."""
        return "not checked" if self.report is None else "passed" if self.report.passed else "not passed"

    def line(self) -> str:
        """The line that is printed when the file has been checked."""
        said = self.problem if self.report is None else "" if self.report.passed else self.report.summary
        return visible(f"{self.verdict:11}  {self.file}{': ' if said else ''}{said}")


def check_several(options: argparse.Namespace) -> int:
    """Checks every file; returns the exit status, where a file that did not pass outranks one that was not checked."""
    if options.in_process and options.jobs > 1:
        raise UsageError("--jobs is for isolated answers: in this process they are called one after the other")
    record, stdout, reports = record_of(options), keep_stdout(), []
    for checked in _all(record, options):
        reports.append(checked)
        if not options.json:
            print(checked.line(), file=stdout, flush=True)
    if options.junit:
        from .junit import write

        write(
            options.junit,
            [(answer.file, answer.problem if answer.report is None else answer.report) for answer in reports],
        )
    if options.json:
        print(json.dumps(data(record.name, reports), indent=2, allow_nan=False), file=stdout, flush=True)
    else:
        show(reports, stdout)
    verdicts = {checked.verdict for checked in reports}
    return Exit.NOT_PASSED if "not passed" in verdicts else Exit.USAGE if "not checked" in verdicts else Exit.PASSED


def _all(record: "Exercise | Witness", options: argparse.Namespace) -> Iterator[Checked]:
    """The results in the order of the files, each as soon as it is known, from as many workers as jobs."""
    with contextlib.ExitStack() as stack:
        count = 0 if options.in_process else min(options.jobs, len(options.files))
        closed = options.record, options.hidden
        workers: list[Worker | None] = [stack.enter_context(started(*closed)) for _ in range(count)] or [None]

        def maker(worker: "Worker | None") -> Callable[[tuple[int, Path]], Checked]:
            return lambda numbered: _checked(numbered[1], record, options, worker)

        known: dict[int, Checked] = {}
        shown = 0
        for (number, _), checked in make_all(deque(enumerate(options.files)), [*map(maker, workers)]):
            known[number] = checked
            while shown in known:
                yield known[shown]
                shown += 1


def _checked(file: Path, record: "Exercise | Witness", options: argparse.Namespace, worker: "Worker | None") -> Checked:
    try:
        wanted = wanted_of(file, record, options)
    except UsageError as problem:
        return Checked(file, None, str(problem))
    try:
        return Checked(file, report_on(wanted, limits_of(options), worker))
    except UsageError:  # no other file could be isolated either
        raise
    except Exception as error:
        return Checked(file, None, f"the check stopped with {type(error).__name__}: {error}")


def data(exercise: str, checks: list[Checked]) -> dict[str, Any]:
    """The results for JSON: each file's report, or why there is none."""
    files = [
        {"file": str(checked.file)}
        | ({"passed": False, "problem": checked.problem} if checked.report is None else checked.report.to_dict())
        for checked in checks
    ]
    return {"exercise": exercise, "passed": all(file["passed"] for file in files), "files": files}


def show(checks: list[Checked], stdout: TextIO) -> None:
    """Prints a table with a row for each file, and how many passed."""
    rows: list[tuple[str, ...]] = [("file", "verdict", "correct", "portable", "efficient", "cases")]
    rows += [(visible(str(checked.file)), checked.verdict, *_answers(checked.report)) for checked in checks]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print(file=stdout)
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(), file=stdout)
    passed = sum(checked.verdict == "passed" for checked in checks)
    print(f"\n{passed} of {len(checks)} files passed.", file=stdout, flush=True)


def _answers(report: "Report | None") -> tuple[str, ...]:
    if report is None:
        return ("", "", "", "")
    said = {True: "yes", False: "no", None: "-"}
    needed = [case for case in report.cases if not case.bonus and case.status != "not-run"]
    passed = sum(case.status == "pass" for case in needed)
    return said[report.correct], said[report.portable], said[report.efficient], f"{passed} of {len(needed)}"
