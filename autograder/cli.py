"""The command line: ``graded-kernels --help`` lists the commands; each lies in the room that it is about.

Exit status: 0 passed, 1 not, 2 wrong usage; of ``sanitize`` 3 as well, where the program itself failed.
"""

import argparse
import atexit
import gc
import os
import sys
from collections.abc import Sequence
from importlib import metadata

from .gpu import NotRun, ensure_runnable
from .words import Exit, Parser, UsageError, visible

# Entry points that add commands: the course, which imports the grader and is not imported by it, has its own here.
COMMANDS = "graded_kernels.commands"

# Packages of the extra `course`, and those that come with them, which some commands import.
COURSE_PACKAGES = (
    *("bleach", "cryptography", "dask", "distributed", "ipykernel", "jupytext", "latex2mathml", "nbclient"),
    *("nbconvert", "nbformat", "nbgrader", "rapidfuzz", "traitlets"),
)

EXAMPLES = {  # shown below the help of each command
    "list": "list --json",
    "check": "check silu_backward my_kernel.py",
    "new": "new softcap --like elementwise",
    "compare": "compare reference.py:rotary mine.py:rotary --arguments reference.py:arguments",
    "neighbours": "neighbours mine.py:norm --arguments example.py:arguments --batch x",
    "verdicts": "verdicts --older 30d",
    "sanitize": "sanitize train.py --steps 1",
    "update": "update 01_silu --dry-run",
    "reset": "reset silu_backward --backend torch",
    "progress": "progress --notebooks my-notebooks",
    "done": "done --markdown",
    "new-assignment": "new-assignment midterm --exercise silu_backward-torch",
    "grade": "grade 01_silu",
    "report": "report 01_silu",
    "export": "export 01_silu paper",
    "answers": "answers 01_silu",
    "marks": "marks 01_silu --for grace,alan",
    "extend": "extend ada 01_silu --days 3",
    "doctor": "doctor",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Carries out a command line, that of this process unless ``arguments`` are given; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):  # a message may hold characters that the terminal's encoding lacks
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    options = parser().parse_args(joined(sys.argv[1:] if arguments is None else arguments))
    atexit.register(gc.freeze)  # else all that was imported is looked through once more when the process ends: .4 s
    try:
        status: int = options.run(options)
        return status
    except UsageError as error:
        print(f"graded-kernels: {visible(str(error))}", file=sys.stderr)
        return Exit.USAGE
    except ModuleNotFoundError as missing:
        if missing.name in COURSE_PACKAGES:
            print(f'graded-kernels: this needs {missing.name}: pip install "graded-kernels[course]"', file=sys.stderr)
            return Exit.USAGE
        if missing.name != "triton":
            raise
        try:
            ensure_runnable("triton")
        except NotRun as reason:
            print(f"graded-kernels: {reason}", file=sys.stderr)
        return Exit.USAGE
    except NotRun as reason:
        print(f"graded-kernels: {reason}", file=sys.stderr)
        return Exit.USAGE
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:  # the reader of the pipe, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.NOT_PASSED


def joined(words: Sequence[str]) -> list[str]:
    """The words of a command line, with ``--without -infinity`` of compare as one: argparse would read two options."""
    if list(words[:1]) != ["compare"]:
        return [*words]
    arguments: list[str] = []
    for word in words:
        if arguments[-1:] == ["--without"]:
            arguments[-1] += f"={word}"
        else:
            arguments.append(word)
    return arguments


def parser() -> argparse.ArgumentParser:
    """The parser of all commands, those that entry points add among them; ``run`` of its result carries one out."""
    from .classroom import command as classroom
    from .gpu.sanitize import command as sanitize
    from .judge import commands as judge
    from .runner.sandbox.compile_jobs import compile_jobs

    about = "Check numerical code: answers to exercises, any function by its reference, a program's Triton kernels."
    top: argparse.ArgumentParser = Parser(prog="graded-kernels", description=about)
    top.add_argument("--version", action="version", version=f"graded-kernels {version()}")
    commands = top.add_subparsers(required=True, metavar="command")

    judge.add_to(commands)
    sanitize.add_to(commands, compile_jobs)
    for entry in metadata.entry_points(group=COMMANDS):
        entry.load()(commands)

    classroom.add_to(commands)

    doctor = commands.add_parser("doctor", help="say what will run on this machine and what will not")
    doctor.set_defaults(run=run_doctor)
    for name, command in commands.choices.items():
        if name in EXAMPLES:
            command.epilog = f"example: graded-kernels {EXAMPLES[name]}"
    return top


def version() -> str:
    """The version of the installed package, or words for a checkout."""
    try:
        return metadata.version("graded-kernels")
    except metadata.PackageNotFoundError:  # a checkout on the path
        return "of a checkout that is not installed"


# Every command imports what it needs, so that --help does not wait for PyTorch.


def run_doctor(options: argparse.Namespace) -> int:
    """Prints what will run on this machine; returns the exit status."""
    from .runner.doctor import doctor

    return doctor.main()
