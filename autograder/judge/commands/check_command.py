"""``graded-kernels check``: its options, and answers in files, each isolated or, where that is asked for, called in
this process; or a function that is named as ``package.module:function``.
"""

import argparse
import contextlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ...words import Commands, Exit, Progress, Quality, UsageError, keep_stdout, new_file
from .one_file import limits_of, record_of, report_on, started, wanted_of

if TYPE_CHECKING:
    from ..report.report import Report

_FUNCTION = re.compile(r"[^:]+:[A-Za-z_][\w.]*")


def add_to(commands: Commands) -> None:
    """Adds the command."""
    check = commands.add_parser("check", help="check answers; exit 0: passed, 1: not passed, 2: wrong usage")
    check.add_argument("exercise", metavar="EXERCISE", help="a name that `graded-kernels list` shows")
    check.add_argument(
        "files",
        metavar="FILE.py",
        type=Path,
        nargs="*",
        help="defines a function named like the exercise; or package.module:function or FILE.py:function, a function "
        "with the exercise's signature, which is called in this process: values and memory accesses are judged alone",
    )
    check.add_argument("--record", metavar="FILE.py", type=Path, help="defines the exercise, an op of your own")
    check.add_argument(
        "--hidden",
        metavar="CASES.py",
        type=Path,
        help="a teacher's cases of the exercise, which are checked, too; without FILE.py, prints the category of each "
        "case, and which known wrong answers fail it",
    )
    check.add_argument("--root", metavar="DIR", type=Path, help="where imports of the files' own package begin")
    check.add_argument("--jobs", type=jobs, default=1, metavar="N", help="how many of several files at once (1)")
    check.add_argument("--junit", metavar="FILE", type=new_file, help="also write the results to it, for a CI service")
    check.add_argument("--backend", help="torch or triton; left out, the one the file is written for")
    check.add_argument(
        "--details", action="store_true", help="also print all that was measured, and where a GPU may differ"
    )
    check.add_argument("--json", action="store_true", help="print one JSON object on stdout and nothing else")
    check.add_argument(
        "--in-process",
        action="store_true",
        help="call the answer in this process, unprotected: code that you trust, in a debugger or without isolation",
    )
    check.add_argument(
        "--only", action="extend", type=Quality.read, help="what decides: some of correct,portable,efficient"
    )
    check.add_argument(
        "--conventions", choices=("course", "pytorch"), default="course", help="pytorch: its own answer is right, too"
    )
    check.add_argument(
        "--targets",
        action="extend",
        type=targets,
        help="GPUs that a Triton answer is compiled for (sm_90): some of sm_80,sm_90,sm_100,gfx942, or all",
    )
    check.add_argument(
        "--machine-code",
        action="store_true",
        help="also count the machine code of each kernel, compiled for sm_90: what it allows of an H100 at most",
    )
    check.add_argument("--seed", type=int, metavar="N", help="of the random inputs; left out, a new one (0 in process)")
    check.add_argument("--seconds", type=seconds, help="of processor time that one call may take (20)")
    check.add_argument("--total-seconds", type=seconds, help="of processor time that all calls may take (120)")
    check.set_defaults(run=main)


def jobs(text: str) -> int:
    """Reads a number of workers. Raises ArgumentTypeError for anything but 1 to 1024."""
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of workers, 1 or more")
    return int(text)


def targets(text: str) -> list[str]:
    """Reads ``sm_80,gfx942`` or ``all`` as names of GPUs. Raises ArgumentTypeError for an unknown one."""
    from ...gpu import Target

    names = "all" if text == "all" else [name.strip() for name in text.split(",")]
    try:
        return [target.name for target in Target.named(names)]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def seconds(text: str) -> float:
    """Reads a number of seconds. Raises ArgumentTypeError unless it is finite and above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def named_function(files: list[Path]) -> str | None:
    """The one ``package.module:function`` among the command's files; None where all are files. Raises UsageError."""
    functions = [file for file in files if _FUNCTION.fullmatch(str(file)) and not file.exists()]
    if functions and len(files) > 1:
        raise UsageError(f"{functions[0]} is checked alone: name one function, or files")
    return str(functions[0]) if functions else None


def main(options: argparse.Namespace) -> int:
    """Checks one file or several, or a function; returns the exit status. Raises UsageError."""
    if named := named_function(options.files):
        return check_function(options, named)
    if not options.files:
        return try_cases(options)
    missing = [file for file in options.files if not file.is_file()]
    if missing:
        swapped = options.exercise.endswith(".py")
        order = f"; the exercise comes first: check {missing[0]} {options.exercise}" if swapped else ""
        raise UsageError(f"there is no file {missing[0]}{order}")
    notebooks = [file for file in options.files if file.suffix == ".ipynb"]
    if notebooks:
        remedy = "run the check cell below your answer in JupyterLab, or put the answer into a .py file"
        raise UsageError(f"{notebooks[0]} is a notebook, not Python: {remedy}")
    for file in filter(None, (options.record, options.hidden)):
        guard(file, options.root)
    if len(options.files) > 1:
        from .several import check_several

        return check_several(options)
    with contextlib.nullcontext() if options.in_process else started(options.record, options.hidden) as worker:
        wanted = wanted_of(options.files[0], record_of(options), options)
        stdout = keep_stdout()
        report = report_on(wanted, limits_of(options), worker, shows=True)
    return show(options, report, stdout)


def try_cases(options: argparse.Namespace) -> int:
    """Prints what each of a teacher's cases costs and which known wrong answers fail it; returns the exit status.
    Raises UsageError.
    """
    if not options.hidden:
        raise UsageError("there is nothing to check: name a FILE.py with an answer, or --hidden CASES.py")
    record = record_of(options)
    from ..records.record import Exercise
    from .tried_cases import tried

    for case in tried(record) if isinstance(record, Exercise) else ():  # no witness has such cases
        print(case)
    return Exit.PASSED


def check_function(options: argparse.Namespace, named: str) -> int:
    """Checks a function in this process. Raises UsageError where ``named`` does not lead to one."""
    record, stdout = record_of(options), keep_stdout()
    from ..records.settings import Settings
    from .named_function import report_on

    backend = "triton" if "triton" in record.backends else "torch"
    only = options.only or ["correct"]
    settings = Settings(
        backend,
        options.seed or 0,
        compiler=False,
        require=only,
        conventions=options.conventions,
        machine_code=options.machine_code,
    )
    with Progress(record.name) as progress:
        report = report_on(record, named, settings, options.root, progress.at)
    return show(options, report, stdout)


def show(options: argparse.Namespace, report: "Report", stdout: TextIO) -> int:
    """Prints the report, writes it where ``--junit`` says, and returns the exit status."""
    if options.junit:
        from .junit import write

        write(options.junit, [(options.files[0], report)])
    from ...words import Terminal
    from ..report import terminal as text

    if options.json:
        shown = json.dumps(report.to_dict(), indent=2, allow_nan=False)
    else:
        shown = text.render(report, color=Terminal.wants_color(stdout), details=options.details)
    print(shown, file=stdout, flush=True)
    return Exit.PASSED if report.passed else Exit.NOT_PASSED


def guard(file: Path, root: Path | None) -> None:
    """Raises UsageError where an answer could import a record, or a teacher's cases."""
    if root and file.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{file} lies in {root}, from where answers import: keep it elsewhere")
