"""Says how far you are, in a notebook: ``progress.course()``, ``progress.chapter("01_silu")`` at a chapter's end, and
``progress.done()`` at the end of the course.

Read from the reports saved in the notebooks of the folder in which this one lies, and from those of this kernel, which
may not be saved yet. ``graded-kernels progress`` prints the same in a terminal.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..autograder.judge import ReportData
from .desk.chapter_progress import read_progress
from .desk.done_page import Done, read_done, write
from .desk.progress_table import Course, End
from .learner import ROOT, sources


@dataclass(frozen=True)
class Unknown:
    """Stands for a chapter that is not known here."""

    name: str

    def __repr__(self) -> str:
        where = "run `graded-kernels progress` in the folder where your notebooks are."
        return f"There is no chapter {self.name!r} here: {where}"


CHECK = 'check("{exercise}", {exercise}, backend="{backend}")'  # a check cell of a chapter, as `cells.check` writes it


def course() -> Course:
    """Every chapter: what is passed, and what to do next."""
    return Course(tuple(read_progress(Path.cwd(), sources(ROOT), _of_this_kernel())))


def chapter(name: str) -> End | Unknown:
    """One chapter, and the one after it; a sentence where neither the course nor this folder has a chapter ``name``."""
    chapters = course().chapters
    names = [chapter.name for chapter in chapters]
    if name not in names:
        return Unknown(name)
    at = names.index(name)
    return End(chapters[at], chapters[at + 1] if at + 1 < len(chapters) else None)


def done() -> Done:
    """Writes ``done.html`` beside this notebook: what is passed, with errors, bytes, registers and distinctions."""
    reports = read_done(Path.cwd(), sources(ROOT), _of_this_kernel())
    write(Path.cwd(), reports)
    return reports


def _of_this_kernel() -> list[dict[str, Any]]:
    """Returns what the check cells of chapters found since the kernel began, the latest last; checks of anything else
    do not count.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        return []
    inputs, results = shell.user_ns.get("In", []), shell.user_ns.get("Out", {})
    reports = ((n, results[n]) for n in sorted(results) if isinstance(results[n], ReportData))
    return [
        report.to_dict()
        for n, report in reports
        if inputs[n].strip() == CHECK.format(exercise=report.exercise, backend=report.backend)
    ]
