"""Disk space of a course and of its gradebook, and files that are written as a whole or not at all. A run stops while
there is some space: a full disk would fail every submission that is left, and nbgrader would advise to upgrade the
gradebook.
"""

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

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
    """Returns what a person does about it, as a sentence with a space before it; "" where that is not known here."""
    return " Free some space." if isinstance(error, OSError) and error.errno in _FULL else ""


@contextlib.contextmanager
def watched(courses: CourseDirectory) -> Iterator[None]:
    """While the context lasts, a statement that fails because a disk is full raises DiskFull."""

    def failed(context: ExceptionContext) -> None:
        error = context.original_exception
        if isinstance(context.sqlalchemy_exception, OperationalError):
            require(courses)  # SQLite may have failed to open or to write its journal
        if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL" or getattr(error, "sqlstate", "") == _SERVER_FULL:
            raise DiskFull(f"the disk of the gradebook ({_shown(courses)}) is full. {_GOES_ON}") from None

    event.listen(Engine, "handle_error", failed)
    try:
        yield
    finally:
        event.remove(Engine, "handle_error", failed)


@contextlib.contextmanager
def writing(root: Path) -> Iterator[None]:
    """Around what writes files of a submission: raises DiskFull where they find no space."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull(f"{error.strerror}: the disk of {root}. {_GOES_ON}") from None
        raise


def _shown(courses: CourseDirectory) -> str:
    return str(make_url(courses.db_url).set(query={}).render_as_string())


class NotWritten(Exception):
    """The message says which file, why, and what to do."""


def make_folder(path: Path) -> None:
    """Its owner's alone. Raises NotWritten."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise NotWritten(_sentence(path, error)) from None


def put(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Where it cannot be written, what was there before stays. Raises NotWritten."""
    if path.exists() and not path.is_file():  # /dev/stdout, say
        path.write_text(text, encoding, newline="")
        return
    path = Path(os.path.realpath(path))
    written = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(written, "x", encoding=encoding, newline="") as file:
            file.write(text)
        if path.exists():
            shutil.copymode(path, written)
        os.replace(written, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            written.unlink()
        raise NotWritten(_sentence(path, error)) from None


def _sentence(path: Path, error: OSError) -> str:
    return f"{path} could not be written: {error.strerror}. What was there before is kept.{fix(error)}"
