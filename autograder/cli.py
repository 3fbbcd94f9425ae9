"""The command line: ``graded-kernels list | check | sanitize | update | reset | progress | cases | doctor``.

Exit status: 0 passed, 1 not, 2 wrong usage; of ``sanitize`` 3 as well, where the program itself failed.
"""

import argparse
import contextlib
import json
import os
import re
import secrets
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from .report.report import Report
    from .run.answer import Answer
    from .sandbox import Worker

PASSED, NOT_PASSED, USAGE = 0, 1, 2
# Entry points that add commands: the course, which imports the grader and is not imported by it, has its own here.
COMMANDS = "graded_kernels.commands"


class UsageError(Exception):
    """A command line that cannot be carried out; the message names the remedy."""


def main(arguments: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):  # a message may hold characters that the terminal's encoding lacks
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    options = parser().parse_args(arguments)
    try:
        return options.run(options)
    except UsageError as error:
        print(f"graded-kernels: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return 130  # what a shell reports for Ctrl-C
    except BrokenPipeError:  # the reader of the pipe, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_PASSED


def parser() -> argparse.ArgumentParser:
    from .sanitize import command as sanitize

    about = "Check PyTorch and Triton answers to the exercises of the course."
    top = argparse.ArgumentParser(prog="graded-kernels", description=about)
    top.add_argument("--version", action="version", version=f"graded-kernels {version()}")
    commands = top.add_subparsers(required=True, metavar="command")

    listing = commands.add_parser("list", help="show the exercises")
    listing.add_argument("--json", action="store_true", help="print one JSON array")
    listing.set_defaults(run=run_list)

    check = commands.add_parser("check", help="check an answer; exit 0: passed, 1: not passed, 2: wrong usage")
    check.add_argument("exercise", metavar="EXERCISE", help="a name that `graded-kernels list` shows")
    check.add_argument("file", metavar="FILE.py", type=Path, help="defines a function named like the exercise")
    check.add_argument("--backend", help="torch or triton; left out, the one the file is written for")
    check.add_argument("--json", action="store_true", help="print one JSON object on stdout and nothing else")
    check.add_argument(
        "--in-process",
        action="store_true",
        help="call the answer in this process, unprotected: code that you trust, in a debugger or without isolation",
    )
    check.add_argument(
        "--only", action="extend", type=quality_list, help="what decides: some of correct,portable,efficient"
    )
    check.add_argument(
        "--conventions", choices=("course", "pytorch"), default="course", help="pytorch: its own answer is right, too"
    )
    check.add_argument("--seed", type=int, metavar="N", help="of the random inputs; left out, a new one (0 in process)")
    check.add_argument("--seconds", type=seconds, help="of processor time that one call may take (20)")
    check.add_argument("--total-seconds", type=seconds, help="of processor time that all calls may take (120)")
    check.set_defaults(run=run_check)

    sanitize.add_to(commands, quality_list)
    for entry in metadata.entry_points(group=COMMANDS):
        entry.load()(commands)

    cases = commands.add_parser("cases", help="try an instructor's own cases on the course's answers")
    cases.add_argument("file", metavar="FILE.toml", type=Path, help="as graded_kernels.autograder.hidden describes it")
    cases.set_defaults(run=run_cases)

    doctor = commands.add_parser("doctor", help="say what will run on this machine and what will not")
    doctor.set_defaults(run=run_doctor)
    return top


def quality_list(text: str) -> list[str]:
    """``correct,portable`` as names. Raises ArgumentTypeError for any that is no quality."""
    from .report.quality import qualities

    try:
        return list(qualities(text.split(",")))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def seconds(text: str) -> float:
    """Raises argparse.ArgumentTypeError for what is no time to run in."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def version() -> str:
    try:
        return metadata.version("graded-kernels")
    except metadata.PackageNotFoundError:  # a checkout on the path
        return "of a checkout that is not installed"


# Every command imports what it needs: --help waits for none of it.


def run_list(options: argparse.Namespace) -> int:
    from .exercises import EXERCISES

    rows = [
        {
            "exercise": record.name,
            "backends": list(record.backends),
            "points": record.points,
            "signature": record.signature,
            "summary": record.summary,
        }
        for record in EXERCISES.values()
    ]
    if options.json:
        print(json.dumps(rows, indent=2))
        return PASSED
    table = [("exercise", "backends", "points", "signature")]
    table += [(row["exercise"], ", ".join(row["backends"]), str(row["points"]), row["signature"]) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, backends, points, signature in table:
        print(f"{name:{widths[0]}}  {backends:{widths[1]}}  {points:>{widths[2]}}  {signature}")
    return PASSED


def run_check(options: argparse.Namespace) -> int:
    needs_none = options.in_process or not options.file.is_file()
    with contextlib.nullcontext() if needs_none else started() as worker:
        answer, backend = wanted(options)
        stdout = keep_stdout()
        limits = {"seconds": options.seconds, "total_seconds": options.total_seconds}
        limits = {name: value for name, value in limits.items() if value}
        how = {"conventions": options.conventions} | ({"require": options.only} if options.only else {})
        report = report_on(answer, backend, options.in_process, limits, options.seed, how, worker)
    from .report import terminal as text

    if options.json:
        shown = json.dumps(report.to_dict(), indent=2, allow_nan=False)
    else:
        shown = text.render(report, color=text.wants_color(stdout))
    print(shown, file=stdout, flush=True)
    return PASSED if report.passed else NOT_PASSED


def started() -> "Worker":
    """A worker, which makes its imports while this process makes its own. Raises UsageError where there can be none."""
    from .sandbox import SandboxError, Worker

    try:
        worker = Worker()
        worker.start()
    except SandboxError as reason:
        raise not_isolated(reason) from None
    return worker


def not_isolated(reason: Exception) -> UsageError:
    cure = "Run `graded-kernels doctor`. To call code that you trust in this process instead: --in-process"
    return UsageError(f"the answer was not checked, for it cannot be isolated: {reason}\n{cure}")


def run_cases(options: argparse.Namespace) -> int:
    from .instructor.hidden import HiddenCasesError
    from .instructor.try_cases import try_cases

    status = PASSED
    try:
        for tried in try_cases(options.file, lambda line: print(line, file=sys.stderr, flush=True)):
            verdict = "pass" if tried.passed else "FAIL"
            print(f"{verdict}  {tried.exercise} ({tried.backend}), {tried.case}: {tried.said}")
            if not tried.passed:
                print(f"      {tried.inputs}")
                status = NOT_PASSED
    except HiddenCasesError as error:
        raise UsageError(str(error)) from None
    return status


def run_doctor(options: argparse.Namespace) -> int:
    from .doctor import doctor

    return doctor.main()


def wanted(options: argparse.Namespace) -> tuple["Answer", str]:
    """The answer and the backend that the command line names. Raises UsageError."""
    from .check import choose_backend
    from .exercises import find
    from .run.answer import AnswerError, read_file

    if not options.file.is_file():
        raise UsageError(f"there is no file {options.file}")
    try:
        record = find(options.exercise)
        answer = read_file(options.file, record.name)
        backend = options.backend or likely_backend(record.backends, answer.text)
        choose_backend(record, backend, None)
    except (ValueError, AnswerError) as error:
        raise UsageError(str(error)) from None
    if not re.search(rf"\b{record.name}\b", answer.text):
        raise UsageError(f"{options.file} defines no function {record.name}; name the function like the exercise")
    return answer, backend


def likely_backend(backends: tuple[str, ...], source: str) -> str:
    """The only backend, or the one that the source is written for; says which on stderr."""
    if len(backends) == 1:
        return backends[0]
    imports_triton = re.search(r"^\s*(import|from)\s+triton\b", source, re.MULTILINE)
    backend, reason = ("triton", "imports triton") if imports_triton else ("torch", "does not import triton")
    print(f"backend {backend}: the file {reason} (--backend says otherwise)", file=sys.stderr)
    return backend


def report_on(
    answer: "Answer",
    backend: str,
    in_process: bool,
    limits: dict[str, float],
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
    from .exercises import find
    from .judge.judge import judge
    from .sandbox import Isolated, Limits, SandboxError

    if in_process:
        return report_on_here(answer, backend, how | {"seed": seed or 0})
    record = find(answer.exercise)
    try:
        with Isolated(
            answer, record.contract, backend, results=record.results, worker=worker, limits=Limits(**limits)
        ) as runner:
            report = judge(record, backend, runner, seed=secrets.randbits(31) if seed is None else seed, **how)
    except SandboxError as reason:
        raise not_isolated(reason) from None
    if runner.printed:
        print(runner.printed, file=sys.stderr)
    return report


def report_on_here(answer: "Answer", backend: str, how: dict) -> "Report":
    from .check import check_answer
    from .exercises import find
    from .judge.judge import judge
    from .run.outcome import Trouble
    from .run.runner import Unloadable

    try:
        return check_answer(answer, backend, **how)
    except SystemExit as end:
        said = f"The code ended the process with exit({end.code}). Take that out: the check has to go on."
        return judge(find(answer.exercise), backend, Unloadable(Trouble("unloadable", said)), **how)


def keep_stdout() -> TextIO:
    """The terminal or pipe that stdout was. From here on all else that is printed, by C code as well, goes to stderr.

    It is never undone: what a thread or an exit handler of the answer prints later must not follow the report.
    """
    sys.stdout.flush()
    kept = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors="backslashreplace")
    os.dup2(2, 1)
    return kept
