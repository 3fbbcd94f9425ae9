"""``graded-kernels check``: answers in files, each isolated, or called here where that is asked for; or one function of
a module, which is called here.
"""

import argparse
import contextlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from .answers import how_of, keep_stdout, record_of, report_on, started, wanted_of
from .usage import NOT_PASSED, PASSED, UsageError

if TYPE_CHECKING:
    from ..exercises.record import Exercise, Witness
    from ..report.report import Report

    OnFunction = Callable[[Exercise | Witness, str, argparse.Namespace], Report]

_FUNCTION = re.compile(r"[^:]+:[A-Za-z_][\w.]*")


def add_to(
    commands, qualities: Callable[[str], list[str]], new_file: Callable[[str], Path], on_function: "OnFunction"
) -> None:
    """Adds the command to the parser. qualities: reads a list of them, with commas between. new_file: reads the name
    of a file to write. on_function: makes the report on a function that is named as ``package.module:function``.
    """
    check = commands.add_parser("check", help="check answers; exit 0: passed, 1: not passed, 2: wrong usage")
    check.add_argument("exercise", metavar="EXERCISE", help="a name that `graded-kernels list` shows")
    check.add_argument(
        "files",
        metavar="FILE.py",
        type=Path,
        nargs="+",
        help="defines a function named like the exercise; or package.module:function or FILE.py:function, a function "
        "with the exercise's signature, which is called in this process: values and memory accesses are judged alone",
    )
    check.add_argument("--record", metavar="FILE.py", type=Path, help="defines the exercise, an op of your own")
    check.add_argument("--root", metavar="DIR", type=Path, help="where imports of the files' own package begin")
    check.add_argument("--jobs", type=jobs, default=1, metavar="N", help="how many of several files at once (1)")
    check.add_argument("--junit", metavar="FILE", type=new_file, help="also write the results to it, for a CI service")
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
    check.add_argument(
        "--targets",
        action="extend",
        type=targets,
        help="GPUs that a Triton answer is compiled for (sm_90): some of sm_80,sm_90,sm_100,gfx942, or all",
    )
    check.add_argument("--variant", metavar="VALUE", help="the exercise in another kind, as in the notebook's check")
    check.add_argument("--seed", type=int, metavar="N", help="of the random inputs; left out, a new one (0 in process)")
    check.add_argument("--seconds", type=seconds, help="of processor time that one call may take (20)")
    check.add_argument("--total-seconds", type=seconds, help="of processor time that all calls may take (120)")
    check.set_defaults(run=main, on_function=on_function)


def jobs(text: str) -> int:
    """Raises argparse.ArgumentTypeError for what is no number of workers."""
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of workers, 1 or more")
    return int(text)


def targets(text: str) -> list[str]:
    """Raises argparse.ArgumentTypeError for what is no GPU to compile for."""
    from ..compiler import targets_of

    names = "all" if text == "all" else [name.strip() for name in text.split(",")]
    try:
        return [target.name for target in targets_of(names)]
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


def main(options: argparse.Namespace) -> int:
    functions = [file for file in options.files if _FUNCTION.fullmatch(str(file)) and not file.exists()]
    if functions:
        if len(options.files) > 1:
            raise UsageError(f"{functions[0]} is checked alone: name one function, or files")
        record = record_of(options)
        stdout = keep_stdout()
        return _tell(options, options.on_function(record, str(functions[0]), options), stdout)
    missing = [file for file in options.files if not file.is_file()]
    if missing:
        raise UsageError(f"there is no file {missing[0]}")
    notebooks = [file for file in options.files if file.suffix == ".ipynb"]
    if notebooks:
        remedy = "run the check cell below your answer in JupyterLab, or put the answer into a .py file"
        raise UsageError(f"{notebooks[0]} is a notebook, not Python: {remedy}")
    guard_record(options.record, options.root)
    if len(options.files) > 1:
        from .several import check_several

        return check_several(options)
    with contextlib.nullcontext() if options.in_process else started(options.record) as worker:
        wanted = wanted_of(options.files[0], record_of(options), options)
        stdout = keep_stdout()
        report = report_on(wanted, options.in_process, *how_of(options), worker)
    return _tell(options, report, stdout)


def _tell(options: argparse.Namespace, report: "Report", stdout: TextIO) -> int:
    if options.junit:
        from .junit import write

        write(options.junit, [(options.files[0], report)])
    from ..report import terminal as text

    if options.json:
        shown = json.dumps(report.to_dict(), indent=2, allow_nan=False)
    else:
        shown = text.render(report, color=text.wants_color(stdout))
    print(shown, file=stdout, flush=True)
    return PASSED if report.passed else NOT_PASSED


def guard_record(record: Path | None, root: Path | None) -> None:
    """Raises UsageError where an answer could import the record."""
    if record and root and record.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{record} lies in {root}, from where answers import: keep the record elsewhere")
