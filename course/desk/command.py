"""``graded-kernels update | reset | progress | done``: the learner's notebooks, from the shell. Cheap to import."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from ...autograder.words import Commands, UsageError
from .. import own_assignment

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[[argparse.Namespace, Path], int]


def add_to(commands: Commands) -> None:
    """Adds the course's commands to those of `graded-kernels`: the learner's, and `own_assignment` for a teacher."""
    update = _command(commands, "update", run_update, "merge chapters that have changed into your notebooks")
    update.add_argument("chapter", nargs="*", metavar="CHAPTER", help="01_silu, say; left out, every one")
    update.add_argument("--dry-run", action="store_true", help="say what would be done and write nothing")

    reset = _command(
        commands, "reset", run_reset, "put one answer cell back as it was released; yours is kept in a file"
    )
    reset.add_argument("exercise", metavar="EXERCISE", help="a name that `graded-kernels list` shows")
    reset.add_argument("--backend", help="torch or triton, where the exercise is answered in both")

    progress = _command(commands, "progress", run_progress, "show how far you are in each chapter")
    shown = progress.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print one JSON array")
    shown.add_argument(
        "--share",
        nargs="?",
        const="",
        metavar="CHAPTER",
        help="print ten lines on how a chapter went, the last you worked on, for you to send or not; no names, no code",
    )

    done = _command(commands, "done", run_done, "write a page on what you have passed, to keep or to show")
    done.add_argument("--markdown", action="store_true", help="done.md, not done.html")
    own_assignment.add_to(commands)


def _command(commands: Commands, name: str, run: Run, help: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=help)
    command.add_argument(
        "--notebooks", type=Path, metavar="FOLDER", help="where your notebooks are (my-notebooks, or here)"
    )
    command.set_defaults(run=lambda options: _guarded(run, options))
    return command


def _guarded(run: Run, options: argparse.Namespace) -> int:
    folder = options.notebooks or _usual_folder()
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; `make lab` makes one in a clone, and --notebooks names yours")
    try:
        return run(options, folder)
    except OSError as error:
        raise UsageError(str(error)) from None


def _usual_folder() -> Path:
    """The folder that ``make lab`` fills, one of its name here, or this one where it holds chapters. Raises UsageError
    where there is none.
    """
    from .chapter_progress import is_chapter

    here = Path.cwd()
    for folder in (ROOT / "my-notebooks", here / "my-notebooks"):
        if folder.is_dir():
            return folder
    if any(map(is_chapter, here.glob("*.ipynb"))):
        return here
    raise UsageError(
        "no notebook of the course is here or in my-notebooks/; --notebooks names the folder of yours (in a clone "
        "`make lab` makes one)"
    )


def run_update(options: argparse.Namespace, folder: Path) -> int:
    """Merges chapters that have changed. Returns an exit status."""
    from ..learner import notebooks
    from . import update

    _sources()  # raises where there are none
    return update.update(notebooks(ROOT), folder, options.chapter, write=not options.dry_run)


def run_reset(options: argparse.Namespace, folder: Path) -> int:
    """Puts one answer cell back as it was released. Returns an exit status."""
    from .notebook import RELOAD
    from .reset import reset

    for line in reset(_sources(), folder, options.exercise, options.backend):
        print(line)
    print(RELOAD, file=sys.stderr)
    return 0


def run_progress(options: argparse.Namespace, folder: Path) -> int:
    """Prints how far the learner is in each chapter. Returns an exit status."""
    from .chapter_progress import read_progress, read_reports
    from .progress_table import Course
    from .share_form import share_form

    course = Course(tuple(read_progress(folder, _sources())))
    if options.share is not None:
        print(share_form(course.chapters, read_reports(folder), options.share))
        return 0
    shown = json.dumps(course.to_list(), indent=2) if options.json else str(course)
    if "█".encode(sys.stdout.encoding or "ascii", errors="replace") == b"?":  # a terminal without block characters
        shown = shown.translate({ord("█"): "#", ord("░"): "-"})
    print(shown)
    return 0


def run_done(options: argparse.Namespace, folder: Path) -> int:
    """Writes the page of what is passed. Returns an exit status."""
    from .done_page import read_done, write

    done = read_done(folder, _sources())
    print(f"{write(folder, done, options.markdown)}: {done}")
    return 0


def _sources() -> list[Path]:
    from ..learner import sources

    chapters = sources(ROOT)
    if not chapters:
        raise UsageError(f"{ROOT}/course/source holds no notebooks; run `make build` in a clone of the project")
    return chapters
