"""``graded-kernels check``: answers in files, each isolated, or called here where that is asked for."""

import argparse
import contextlib
import json
import os
import re
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from .usage import NOT_PASSED, PASSED, UsageError

if TYPE_CHECKING:
    from ..exercises.record import Exercise, Witness
    from ..report.report import Report
    from ..run.answer import Answer
    from ..sandbox import Worker


def add_to(commands, qualities: Callable[[str], list[str]]) -> None:
    """Adds the command to the parser. qualities: reads a list of them, with commas between."""
    check = commands.add_parser("check", help="check an answer; exit 0: passed, 1: not passed, 2: wrong usage")
    check.add_argument("exercise", metavar="EXERCISE", help="a name that `graded-kernels list` shows")
    check.add_argument("file", metavar="FILE.py", type=Path, help="defines a function named like the exercise")
    check.add_argument("--record", metavar="FILE.py", type=Path, help="defines the exercise, an op of your own")
    check.add_argument("--backend", help="torch or triton; left out, the one the file is written for")
    check.add_argument("--json", action="store_true", help="print one JSON object on stdout and nothing else")
    check.add_argument(
        "--in-process",
        action="store_true",
        help="call the answer in this process, unprotected: code that you trust, in a debugger or without isolation",
    )
    check.add_argument(
        "--only", action="extend", type=qualities, help="what decides: some of correct,portable,efficient"
    )
    check.add_argument(
        "--conventions", choices=("course", "pytorch"), default="course", help="pytorch: its own answer is right, too"
    )
    check.add_argument("--seed", type=int, metavar="N", help="of the random inputs; left out, a new one (0 in process)")
    check.add_argument("--seconds", type=seconds, help="of processor time that one call may take (20)")
    check.add_argument("--total-seconds", type=seconds, help="of processor time that all calls may take (120)")
    check.set_defaults(run=main)


def seconds(text: str) -> float:
    """Raises argparse.ArgumentTypeError for what is no time to run in."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


@dataclass(frozen=True)
class Wanted:
    """An answer to check, and what it answers."""

    record: "Exercise | Witness"
    answer: "Answer"
    backend: str


def main(options: argparse.Namespace) -> int:
    needs_none = options.in_process or not options.file.is_file()
    with contextlib.nullcontext() if needs_none else started(options.record) as worker:
        wanted = wanted_of(options)
        stdout = keep_stdout()
        limits = {"seconds": options.seconds, "total_seconds": options.total_seconds}
        limits = {name: value for name, value in limits.items() if value}
        how = {"conventions": options.conventions} | ({"require": options.only} if options.only else {})
        report = report_on(wanted, options.in_process, limits, options.seed, how, worker)
    from ..report import terminal as text

    if options.json:
        shown = json.dumps(report.to_dict(), indent=2, allow_nan=False)
    else:
        shown = text.render(report, color=text.wants_color(stdout))
    print(shown, file=stdout, flush=True)
    return PASSED if report.passed else NOT_PASSED


def started(record: Path | None = None) -> "Worker":
    """A worker, which makes its imports while this process makes its own. record: a file that no answer may read, nor
    what lies beside it. Raises UsageError where there can be no worker.
    """
    from ..sandbox import SandboxError, Worker

    try:
        worker = Worker(hidden=() if record is None else (str(record.resolve().parent),))
        worker.start()
    except SandboxError as reason:
        raise not_isolated(reason) from None
    return worker


def not_isolated(reason: Exception) -> UsageError:
    cure = "Run `graded-kernels doctor`. To call code that you trust in this process instead: --in-process"
    return UsageError(f"the answer was not checked, for it cannot be isolated: {reason}\n{cure}")


def wanted_of(options: argparse.Namespace) -> Wanted:
    """The answer that the command line names, and to what. Raises UsageError."""
    from ..check import choose_backend
    from ..exercises import find, own
    from ..run.answer import AnswerError, read_file

    if not options.file.is_file():
        raise UsageError(f"there is no file {options.file}")
    try:
        record = own.read(options.record, options.exercise) if options.record else find(options.exercise)
        answer = read_file(options.file, record.name)
        backend = options.backend or likely_backend(record.backends, answer.text)
        choose_backend(record, backend, None)
    except (ValueError, AnswerError) as error:
        raise UsageError(str(error)) from None
    if not re.search(rf"\b{record.name}\b", answer.text):
        raise UsageError(f"{options.file} defines no function {record.name}; name the function like the exercise")
    return Wanted(record, answer, backend)


def likely_backend(backends: tuple[str, ...], source: str) -> str:
    """The only backend, or the one that the source is written for; says which on stderr."""
    if len(backends) == 1:
        return backends[0]
    imports_triton = re.search(r"^\s*(import|from)\s+triton\b", source, re.MULTILINE)
    backend, reason = ("triton", "imports triton") if imports_triton else ("torch", "does not import triton")
    print(f"backend {backend}: the file {reason} (--backend says otherwise)", file=sys.stderr)
    return backend


def report_on(
    wanted: Wanted,
    in_process: bool,
    limits: dict[str, Any],
    seed: int | None,
    how: dict,
    worker: "Worker | None" = None,
) -> "Report":
    """The report on an answer that runs in a worker of its own, or here where that is asked for.

    limits: of `Limits`, where they are not the usual ones; they hold in a worker only. Without a seed the worker's
    inputs are new at every run, so that no answer knows them, and the report says which seed makes them again. Here,
    where somebody looks for a mistake, they are always the same. how: other options of `check.judge`. worker: one that
    is there already.

    Raises UsageError where it cannot be isolated: an answer that makes isolation fail must not run unprotected.
    """
    from ..judge.judge import judge
    from ..sandbox import Isolated, Limits, SandboxError

    if in_process:
        return report_on_here(wanted, how | {"seed": seed or 0})
    record, backend = wanted.record, wanted.backend
    try:
        with Isolated(
            wanted.answer, record.contract, backend, results=record.results, worker=worker, limits=Limits(**limits)
        ) as runner:
            report = judge(record, backend, runner, seed=secrets.randbits(31) if seed is None else seed, **how)
    except SandboxError as reason:
        raise not_isolated(reason) from None
    if runner.printed:
        print(runner.printed, file=sys.stderr)
    return report


def report_on_here(wanted: Wanted, how: dict) -> "Report":
    from ..check import check_answer
    from ..judge.judge import judge
    from ..run.outcome import Trouble
    from ..run.runner import Unloadable

    try:
        return check_answer(wanted.answer, wanted.backend, record=wanted.record, **how)
    except SystemExit as end:
        said = f"The code ended the process with exit({end.code}). Take that out: the check has to go on."
        return judge(wanted.record, wanted.backend, Unloadable(Trouble("unloadable", said)), **how)


def keep_stdout() -> TextIO:
    """The terminal or pipe that stdout was. From here on all else that is printed, by C code as well, goes to stderr.

    It is never undone: what a thread or an exit handler of the answer prints later must not follow the report.
    """
    sys.stdout.flush()
    kept = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors="backslashreplace")
    os.dup2(2, 1)
    return kept
