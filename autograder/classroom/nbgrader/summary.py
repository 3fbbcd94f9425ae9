"""Sentences of a grading run: a line for each notebook; at the end what it did, what waits for a person."""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy.exc import SAWarning

OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
EXPECTED = (  # warnings of nbgrader's about what happens in every run
    "Attribute 'checksum' for cell",
    "Removing failed assignment",
    "Removing existing assignment",
    "No submitted file",
    "Canceled",
    "SubmittedAssignment<",  # ... is 91800.0 seconds late: the summary lists it, with the points taken off
    "Late submission penalty: ",
)


@dataclass
class Summary:
    """The summary of one run. Each line of a list begins with the submission that it is about."""

    graded: int = 0
    written: int = 0  # answers that a person grades in any case
    odd: list[str] = field(default_factory=list)
    for_a_person: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    published: list[str] = field(default_factory=list)
    prying: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)  # students
    waiting: int = 0  # of the unchanged, for a person
    regraded: int = 0  # submissions that did not change
    changes: set[str] = field(default_factory=set)  # that they are graded again for
    settings: list[str] = field(default_factory=list)  # the teacher's own that act in the assignment
    excluded: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lists = [
            ("Graded, with a note in the feedback", self.odd),
            ("For a person, without a score until then (formgrader, Manual Grading)", self.for_a_person),
            ("Changed after you gave points by hand, waits for you (formgrader, Manual Grading)", self.again),
            ("Not graded, because of the error above or because the run was stopped", self.failed),
            ("Not read, because submitted/STUDENT/ASSIGNMENT/ is where notebooks are looked for", self.elsewhere),
            ("Late", self.late),
            ("The published answer, but for names and layout (short answers can agree by chance)", self.published),
            (
                "Code that names what no answer needs (it saw nothing of the class; look at what it was for)",
                self.prying,
            ),
            ("Skipped, because it is excluded", self.excluded),
        ]
        counts = [f"{self.graded} graded", f"{len(self.for_a_person)} for a person"]
        counts += [f"{len(self.failed)} failed"] if self.failed else []
        if self.unchanged:
            waiting = f" ({self.waiting} with something to grade by hand)" if self.waiting else ""
            counts.append(f"{len(self.unchanged)} skipped, unchanged since they were graded{waiting}")
        counts += [f"{self.written} written answers to grade by hand"] if self.written else []
        lines = ["Summary: " + ", ".join(counts) + "."]
        if self.regraded:
            what = ", ".join(sorted(self.changes))
            lines.append(f"Unchanged submissions graded again: {self.regraded}, since these changed: {what}")
        lines += [f"Your settings that act here: {'; '.join(self.settings)}"] if self.settings else []
        for title, entries in lists:
            lines += [f"{title}: {len(entries)}"] if entries else []
            lines += [f"  {entry}" for entry in entries]
        return "\n".join(lines)


@contextmanager
def quiet(logger: logging.Logger) -> Iterator[None]:
    """Hides nbgrader's own progress, but for what goes into a log file or was asked for with ``--debug``."""
    handlers = [handler for handler in _screens(logger) if handler.level != logging.DEBUG]
    for handler in handlers:
        handler.addFilter(_is_news)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=SAWarning)  # of every submission that nbgrader makes
            yield
    finally:
        for handler in handlers:
            handler.removeFilter(_is_news)


def _screens(logger: logging.Logger | None) -> Iterator[logging.Handler]:
    while logger:
        yield from (handler for handler in logger.handlers if not isinstance(handler, logging.FileHandler))
        logger = logger.parent if logger.propagate else None


def _is_news(record: logging.LogRecord) -> bool:
    if record.pathname.startswith(OURS):
        return True
    return record.levelno > logging.INFO and not record.getMessage().startswith(EXPECTED)
