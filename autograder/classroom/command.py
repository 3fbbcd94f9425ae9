"""``graded-kernels grade``, ``report``, ``export``, ``marks``, ``answers`` and ``extend``: their options. What carries
them out is imported when they are called.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from ..words import Commands, Exit, UsageError

YEAR = 366  # days


def add_to(commands: Commands) -> None:
    """Adds the commands to the parser."""
    about = "check a class's answers on all cores or on a cluster, then run nbgrader autograde"
    grade = commands.add_parser("grade", help=about, description=about)
    grade.add_argument("assignment", metavar="ASSIGNMENT", help="01_silu, say")
    grade.add_argument("--course", type=Path, default=Path(), metavar="FOLDER", help="the course root (.)")
    grade.add_argument("--students", type=names, default=[], metavar="A,B", help="only theirs")
    grade.add_argument("--workers", type=number, metavar="N", help="processes on this machine (as many as cores)")
    grade.add_argument("--scheduler", metavar="ADDRESS", help="a running Dask cluster, tls://host:8786")
    grade.add_argument("--force", action="store_true", help="grade again what was graded and has not changed")
    grade.set_defaults(run=run_grade)

    about = "write a page on what a class did in an assignment, and one on the course, into reports/"
    report = commands.add_parser("report", help=about, description=about)
    report.add_argument("assignment", metavar="ASSIGNMENT", help="01_silu, say")
    report.add_argument("--course", type=Path, default=Path(), metavar="FOLDER", help="the course root (.)")
    report.set_defaults(run=run_report)

    about = "write what a class got for another platform, or its written answers to mark on paper, into reports/"
    export = commands.add_parser("export", help=about, description=about)
    export.add_argument("assignment", metavar="ASSIGNMENT", help="01_silu, say")
    export.add_argument("format", choices=("gradescope", "prairielearn", "paper"), help="results.json, or one page")
    export.add_argument("--course", type=Path, default=Path(), metavar="FOLDER", help="the course root (.)")
    export.set_defaults(run=run_export)

    about = "write an assignment with the course's answers in it, after its last due date, into solution/"
    answers = commands.add_parser("answers", help=about, description=about)
    answers.add_argument("assignment", metavar="ASSIGNMENT", help="01_silu, say")
    answers.add_argument("--now", action="store_true", help="before it is due for everybody, too")
    answers.add_argument("--course", type=Path, default=Path(), metavar="FOLDER", help="the course root (.)")
    answers.set_defaults(run=run_answers)

    about = "write what people mark by hand to CSV files, one for each assistant, or read such files back"
    marks = commands.add_parser("marks", help=about, description=about)
    marks.add_argument("assignment", metavar="ASSIGNMENT", help="01_silu, say")
    each = "a file for each assistant, of students of their own"
    marks.add_argument("--for", dest="assistants", type=names, default=[], metavar="A,B", help=each)
    marks.add_argument("--read", type=Path, nargs="+", default=[], metavar="FILE.csv", help="give the marks in these")
    marks.add_argument("--skip-bad-rows", action="store_true", help="give the others where some rows cannot be read")
    marks.add_argument("--course", type=Path, default=Path(), metavar="FOLDER", help="the course root (.)")
    marks.set_defaults(run=run_marks)

    about = "give one student a due date of their own, from which lateness counts; or list who has one"
    extend = commands.add_parser("extend", help=about, description=about)
    extend.add_argument("student", metavar="STUDENT", nargs="?", help="as the gradebook has it")
    extend.add_argument("assignment", metavar="ASSIGNMENT", nargs="?", help="01_silu, say")
    how_long = extend.add_mutually_exclusive_group(required=True)
    how_long.add_argument("--days", type=days, metavar="N", help="after the class's due date; 0 takes it back")
    how_long.add_argument("--minutes", type=minutes, metavar="N", help="the same in minutes")
    how_long.add_argument("--list", action="store_true", help="list the due dates that differ from the class's")
    extend.add_argument("--course", type=Path, default=Path(), metavar="FOLDER", help="the course root (.)")
    extend.set_defaults(run=run_extend)


def names(text: str) -> list[str]:
    """Reads names between commas, blanks aside."""
    return [name.strip() for name in text.split(",") if name.strip()]


def number(text: str) -> int:
    """Reads a number of processes. Raises ArgumentTypeError for anything else."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes")
    return int(text)


def days(text: str) -> int:
    """Reads a number of days. Raises ArgumentTypeError for anything else, and for more than a year."""
    if not text.isdecimal() or int(text) > YEAR:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days; give 0 to {YEAR}")
    return int(text)


def minutes(text: str) -> int:
    """Reads a number of minutes. Raises ArgumentTypeError for anything else, and for more than a year."""
    if not text.isdecimal() or int(text) > YEAR * 24 * 60:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of minutes; give 0 to {YEAR * 24 * 60}")
    return int(text)


def run(main: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Runs a command in a course, and returns its exit status. Raises UsageError."""
    from .course import NoCourse
    from .nbgrader.disk import NotWritten

    try:
        return main(options)
    except NoCourse as error:
        raise UsageError(str(error)) from None
    except NotWritten as error:
        print(f"graded-kernels: {error}", file=sys.stderr)
        return Exit.NOT_PASSED


def run_extend(options: argparse.Namespace) -> int:
    """Runs ``graded-kernels extend`` and returns its exit status."""
    from .extend import main

    return run(main, options)


def run_answers(options: argparse.Namespace) -> int:
    """Runs ``graded-kernels answers`` and returns its exit status."""
    from .given_answers import main

    return run(main, options)


def run_marks(options: argparse.Namespace) -> int:
    """Runs ``graded-kernels marks`` and returns its exit status."""
    from .marks_by_hand import main

    return run(main, options)


def run_export(options: argparse.Namespace) -> int:
    """Runs ``graded-kernels export`` and returns its exit status."""
    from .platforms import main

    return run(main, options)


def run_report(options: argparse.Namespace) -> int:
    """Runs ``graded-kernels report`` and returns its exit status."""
    from .class_report import main

    return run(main, options)


def run_grade(options: argparse.Namespace) -> int:
    """Runs ``graded-kernels grade`` and returns its exit status."""
    from ..words import no_garbage

    with no_garbage():
        from .grade import main
    return main(options)
