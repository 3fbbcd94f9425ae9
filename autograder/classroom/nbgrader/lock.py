"""Locks: one grading run at a time in a course, since a second one would take the first one's notebooks for those of a
dead run; and the gradebook's own, which a run waits for where another program holds it.
"""

import fcntl
import getpass
import os
import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from sqlalchemy import make_url

FILE = "autograde.lock"
PATIENCE = 600  # seconds that a statement waits for SQLite's lock
PAUSE = 0.5
HELD = "Another program holds the gradebook (%s). Waiting until it lets go; stop here with Ctrl-C."


class Locked(Exception):
    """Another run is at work; the message says which."""


class Lock:
    """Held as a context. It goes with its process, however that ends, and is not inherited by processes it starts.

    file: its name in the course root. wait: is called with the holder before this process waits for it. Without it,
    Locked is raised.
    """

    def __init__(self, root: Path, file: str = FILE, wait: Callable[[str], None] | None = None):
        self.path, self._wait = root / file, wait

    def __enter__(self) -> "Lock":
        """Raises Locked, and OSError where the file cannot be made."""
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._file, 300, 0).decode("utf-8", "replace").strip() or "not yet known which"
            if self._wait:
                self._wait(holder)
                fcntl.flock(self._file, fcntl.LOCK_EX)
                return self._signed()
            os.close(self._file)
            raise Locked(f"another grading run is at work in this course ({holder}). Wait for it or stop it") from None
        return self._signed()

    def _signed(self) -> "Lock":
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{_this_process()}\n".encode(), 0)
        return self

    def __exit__(self, *error: object) -> None:
        os.ftruncate(self._file, 0)
        os.close(self._file)


def _this_process() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # an account that the system has no name for, as in containers
        user = str(os.getuid())
    return f"process {os.getpid()} of {user} on {socket.gethostname()}, since {datetime.now():%Y-%m-%d %H:%M:%S}"


def prepare(courses: CourseDirectory, tell: Callable[..., None]) -> None:
    """Has statements wait for a lock of SQLite's, and waits for one that is held now. tell: is told, as a logger is.

    Grading a class takes long, and nbgrader writes last: raises PermissionError where it could not.
    """
    book = make_url(courses.db_url)
    files = [book.database, os.path.dirname(book.database or "")] if book.get_backend_name() == "sqlite" else []
    graded = Path(courses.format_path(courses.autograded_directory, ".", ".")).absolute()
    files.append(str(next(folder for folder in (graded, *graded.parents) if folder.exists())))
    for path in files:
        if path and os.path.exists(path) and not os.access(path, os.W_OK):
            raise PermissionError(f"{path} cannot be written")
    if files[0] == book.database and book.database:
        courses.db_url = book.update_query_dict({"timeout": str(PATIENCE)}).render_as_string(hide_password=False)
        wait(courses.db_url, tell)


def wait(db_url: str, tell: Callable[..., None]) -> None:
    """Until nobody else holds SQLite's lock for writing; other databases wait by themselves."""
    book, waiting = make_url(db_url), False
    if book.get_backend_name() != "sqlite" or not book.database or not os.path.exists(book.database):
        return
    while _is_held(book.database):
        if not waiting:
            tell(HELD, book.database)
        waiting = True
        time.sleep(PAUSE)


def _is_held(database: str) -> bool:
    with closing(sqlite3.connect(database, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                return True
            raise
    return False
