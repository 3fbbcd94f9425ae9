"""Room on the disks of a course and of its gradebook. A run stops while there is some: a full disk would fail every
submission that is left, and nbgrader would advise to upgrade the gradebook.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from nbgrader.converters.base import BaseConverter
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import event, make_url
from sqlalchemy.engine import Engine, ExceptionContext
from sqlalchemy.exc import OperationalError

NEEDED = 64  # MB in the course root: more than nbgrader writes for one submission
FOR_GRADEBOOK = 4  # MB where SQLite's file is: the same
_FULL = (errno.ENOSPC, errno.EDQUOT)  # the disk, or what this account may have of it
_SERVER_FULL = "53100"  # PostgreSQL's code
_GOES_ON = "What was graded is kept; free some space, and the same command goes on from here"


class DiskFull(BaseException):
    """The message says what is full. No Exception, which nbgrader takes for the failure of one submission."""


def require(courses: CourseDirectory) -> None:
    """Raises DiskFull."""
    book = make_url(courses.db_url)
    places = [(str(courses.root), NEEDED)]
    if book.get_backend_name() == "sqlite" and book.database:
        places.append((os.path.dirname(os.path.abspath(book.database)), FOR_GRADEBOOK))
    for place, needed in places:
        disk = os.statvfs(place)
        free = disk.f_bavail * disk.f_frsize >> 20
        if free < needed:
            raise DiskFull(f"only {free} MB are free on the disk of {place}, and a run needs {needed}. {_GOES_ON}")


def fix(error: Exception) -> str:
    """What a person does about it, as a sentence with a space before it; "" where that is not known here."""
    return " Free some space." if isinstance(error, OSError) and error.errno in _FULL else ""


@contextlib.contextmanager
def watched(converter: BaseConverter) -> Iterator[None]:
    """While the context lasts, DiskFull is raised where a file of a submission cannot be written, or a statement fails,
    because a disk is full.
    """
    courses = converter.coursedir

    def failed(context: ExceptionContext) -> None:
        error = context.original_exception
        if isinstance(context.sqlalchemy_exception, OperationalError):
            require(courses)  # SQLite may have failed to open or to write its journal
        if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL" or getattr(error, "sqlstate", "") == _SERVER_FULL:
            raise DiskFull(f"the disk of the gradebook ({_shown(courses)}) is full. {_GOES_ON}") from None

    for step in ("init_assignment", "convert_single_notebook"):
        setattr(converter, step, _writing(Path(courses.root))(getattr(converter, step)))
    event.listen(Engine, "handle_error", failed)
    try:
        yield
    finally:
        event.remove(Engine, "handle_error", failed)


@contextlib.contextmanager
def _writing(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull(f"{error.strerror}: the disk of {root}. {_GOES_ON}") from None
        raise


def _shown(courses: CourseDirectory) -> str:
    return make_url(courses.db_url).set(query={}).render_as_string()
