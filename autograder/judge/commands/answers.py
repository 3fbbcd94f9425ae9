"""What `graded-kernels check` does with one file: reads it, and has it judged, isolated or here."""

import argparse
import os
import re
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ...words import UsageError

if TYPE_CHECKING:
    from ...runner import Answer, Worker
    from ..records.record import Exercise, Witness
    from ..report.report import Report


@dataclass(frozen=True)
class Wanted:
    """An answer to check, and the exercise it is for."""

    record: "Exercise | Witness"
    answer: "Answer"
    backend: str


def how_of(options: argparse.Namespace) -> tuple[dict[str, Any], int | None, dict[str, Any]]:
    """The limits, the seed and the other options of a check, as `report_on` takes them."""
    limits = {"seconds": options.seconds, "total_seconds": options.total_seconds}
    chosen = {"require": options.only, "targets": options.targets}
    how = {"conventions": options.conventions} | {name: value for name, value in chosen.items() if value}
    return {name: value for name, value in limits.items() if value}, options.seed, how


def record_of(options: argparse.Namespace) -> "Exercise | Witness":
    """The record of the exercise that the command names. Raises UsageError."""
    from ..records import external_records
    from ..records.table import find

    try:
        return external_records.read(options.record, options.exercise) if options.record else find(options.exercise)
    except ValueError as error:
        raise UsageError(str(error)) from None


def started(record: Path | None = None) -> "Worker":
    """A started worker, which makes its imports while this process makes its own. record: a file that no answer may
    read, nor what lies beside it. Raises UsageError where no worker can be started.
    """
    from ...runner import SandboxError, Worker

    try:
        worker = Worker(hidden=() if record is None else (str(record.resolve().parent),))
        worker.start()
    except SandboxError as reason:
        raise not_isolated(reason) from None
    return worker


def not_isolated(reason: Exception) -> UsageError:
    """The error for an answer that cannot be isolated, with what to do about it."""
    cure = "Run `graded-kernels doctor`. To call code that you trust in this process instead: --in-process"
    return UsageError(f"the answer was not checked, because it cannot be isolated: {reason}\n{cure}")


def wanted_of(file: Path, record: "Exercise | Witness", options: argparse.Namespace) -> Wanted:
    """The answer in a file. Raises UsageError."""
    from ...runner import AnswerError, read_file
    from ..checking import choose_backend

    try:
        answer = read_file(file, record.name, options.root)
        backend = options.backend or likely_backend(record.backends, answer)
        choose_backend(record, backend, None)
    except (ValueError, AnswerError) as error:
        raise UsageError(str(error)) from None
    if not re.search(rf"\b{record.name}\b", answer.text):
        raise UsageError(f"{file} defines no function {record.name}; name the function like the exercise")
    return Wanted(record, answer, backend)


def likely_backend(backends: tuple[str, ...], answer: "Answer") -> str:
    """The only backend, or the one that the file is written for, or else what it imports; says which on stderr."""
    if len(backends) == 1:
        return backends[0]
    uses = re.compile(r"^\s*(import|from)\s+triton\b", re.MULTILINE)
    if uses.search(answer.text):
        backend, reason = "triton", "the file imports triton"
    elif any(uses.search(module.source) for module in answer.modules):
        backend, reason = "triton", "a file that it imports imports triton"
    else:
        backend, reason = "torch", "the file does not import triton"
    print(f"backend {backend}: {reason} (to choose: --backend)", file=sys.stderr)
    return backend


def report_on(
    wanted: Wanted,
    in_process: bool,
    limits: dict[str, Any],
    seed: int | None,
    how: dict[str, Any],
    worker: "Worker | None" = None,
) -> "Report":
    """The report on an answer that runs in a worker of its own, or in this process where that is asked for.

    limits: arguments of `Limits` that differ from its defaults; they hold in a worker only. Without a seed the worker's
    inputs are new at every run, so that no answer knows them, and the report says which seed makes them again. In this
    process, where somebody looks for a mistake, they are always the same. how: other options of `judge`. worker: a
    started one to use.

    Raises UsageError where it cannot be isolated: an answer that makes isolation fail must not run unprotected.
    """
    from ...runner import Isolated, Limits, SandboxError
    from ..judge import judge
    from ..report.report import Report

    if in_process:
        return report_on_here(wanted, how | {"seed": seed or 0})
    record, backend = wanted.record, wanted.backend
    try:
        with Isolated(wanted.answer, record.contract, backend, worker=worker, limits=Limits(**limits)) as runner:
            found = judge(record, backend, runner, seed=secrets.randbits(31) if seed is None else seed, **how)
    except SandboxError as reason:
        raise not_isolated(reason) from None
    if runner.printed:
        print(runner.printed, file=sys.stderr)
    return Report.of(found)


def report_on_here(wanted: Wanted, how: dict[str, Any]) -> "Report":
    """The report on an answer that is called in this process, where its code may end the process."""
    from ...runner import Trouble, Unloadable
    from ..checking import check_answer
    from ..judge import judge
    from ..report.report import Report

    try:
        return check_answer(wanted.answer, wanted.backend, record=wanted.record, **how)
    except SystemExit as end:
        said = f"The code ended the process with exit({end.code}). Remove that: the check has to go on."
        return Report.of(judge(wanted.record, wanted.backend, Unloadable(Trouble("unloadable", said)), **how))


def keep_stdout() -> TextIO:
    """The terminal or pipe that stdout was. From now on all else that is printed, also by C code, goes to stderr.

    It is never undone: what a thread or an exit handler of the answer prints later must not follow the report.
    """
    sys.stdout.flush()
    kept = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors="backslashreplace")
    os.dup2(2, 1)
    return kept
