"""Says what `graded-kernels check` does with one file: reads it, and has it judged, isolated or here."""

import argparse
import re
import secrets
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...words import Progress, UsageError

if TYPE_CHECKING:
    from ...runner import Answer, Limits, Worker
    from ..records.record import Exercise, Witness
    from ..records.settings import Settings
    from ..report.report import Report


@dataclass(frozen=True)
class Wanted:
    """An answer to check, and the exercise it is for."""

    record: "Exercise | Witness"
    answer: "Answer"
    settings: "Settings"


def limits_of(options: argparse.Namespace) -> "Limits":
    """Returns what an answer may take, as the command has it."""
    from ...runner import Limits

    limits = {"seconds": options.seconds, "total_seconds": options.total_seconds}
    return Limits(**{name: value for name, value in limits.items() if value})


def settings_of(options: argparse.Namespace, backend: str) -> "Settings":
    """Returns what the command has. Without a seed a worker's inputs are new for every file, so that no answer knows
    them, and the report says which seed makes them again. In this process, where somebody looks for a mistake, they are
    always the same.
    """
    from ..records.settings import Settings

    unknown = 0 if options.in_process else secrets.randbits(31)
    chosen = {"require": options.only, "targets": options.targets}
    return Settings(
        backend,
        unknown if options.seed is None else options.seed,
        conventions=options.conventions,
        machine_code=options.machine_code,
        **{name: value for name, value in chosen.items() if value},
    )


def record_of(options: argparse.Namespace) -> "Exercise | Witness":
    """The record of the exercise that the command names, with the cases of ``--hidden``. Raises UsageError."""
    from ..verdicts.make import preload

    preload()
    from ..records import external_records
    from ..records.record import Exercise
    from ..records.table import find

    try:
        record = external_records.read(options.record, options.exercise) if options.record else find(options.exercise)
        if options.hidden:
            cases = external_records.read_cases(options.hidden.read_text(encoding="utf-8"), record)
            assert isinstance(record, Exercise)  # a witness has no cases: `read_cases` says so
            record = record.with_cases(cases)
        return record
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {error.filename}") from None
    except (OSError, ValueError) as error:
        raise UsageError(str(error)) from None


def started(*closed: Path | None) -> "Worker":
    """A started worker, which makes its imports while this process makes its own. closed: files that no answer may
    read, nor what lies beside them. Raises UsageError where no worker can be started.
    """
    from ...runner import SandboxError, Worker

    try:
        worker = Worker(hidden=tuple({str(file.resolve().parent): None for file in closed if file}))
        worker.start()
    except SandboxError as reason:
        raise not_isolated(reason) from None
    return worker


def not_isolated(reason: Exception | str) -> UsageError:
    """The error for an answer that cannot be isolated, with what to do about it."""
    cure = "Run `graded-kernels doctor`. To call code that you trust in this process instead: --in-process"
    return UsageError(f"the answer was not checked, because it cannot be isolated: {reason}\n{cure}")


def wanted_of(file: Path, record: "Exercise | Witness", options: argparse.Namespace) -> Wanted:
    """The answer in a file. Raises UsageError."""
    from ...runner import Answer
    from ..checking.check import choose_backend

    try:
        answer = Answer.read(file, record.name, options.root)
        backend = options.backend or likely_backend(record.backends, answer)
        choose_backend(record, backend, None)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not re.search(rf"\b{record.name}\b", answer.text):
        raise UsageError(f"{file} defines no function {record.name}; name the function like the exercise")
    return Wanted(record, answer, settings_of(options, backend))


def likely_backend(backends: tuple[str, ...], answer: "Answer") -> str:
    """The only backend, or the one that the file is written for, or else what it imports; says which on stderr."""
    if len(backends) == 1:
        return backends[0]
    uses = re.compile(r"^\s*(from\s+|import\s+([\w.]+\s*,\s*)*)triton\b", re.MULTILINE)
    if uses.search(answer.text):
        backend, reason = "triton", "the file imports triton"
    elif any(uses.search(module.source) for module in answer.modules):
        backend, reason = "triton", "a file that it imports imports triton"
    else:
        backend, reason = "torch", "the file does not import triton"
    print(f"backend {backend}: {reason} (to choose: --backend)", file=sys.stderr)
    return backend


def report_on(wanted: Wanted, limits: "Limits", worker: "Worker | None", shows: bool = False) -> "Report":
    """The report on an answer that runs in the worker, within the limits; in this process where there is none. shows:
    whether a terminal shows what is under way.

    Raises UsageError where it cannot be isolated: an answer that makes isolation fail must not run unprotected.
    """
    from ...runner import Isolated, SandboxError
    from ..checking.check import check_answer
    from ..checking.judge import judge
    from ..report.report import Report

    record, settings = wanted.record, wanted.settings
    progress = Progress(record.name, limited=worker is not None)
    line = progress if shows else nullcontext()
    if worker is None:
        with line:
            return check_answer(wanted.answer, settings, record=record, at=progress.at)
    try:
        isolated = Isolated(wanted.answer, record.contract, settings.backend, worker=worker, limits=limits)
        with isolated as runner, line:
            data = judge(record, runner, settings, at=progress.at)
    except SandboxError as reason:
        raise not_isolated(reason) from None
    if runner.printed:
        print(runner.printed, file=sys.stderr)
    return Report.of(data)
