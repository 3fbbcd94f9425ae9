"""One grading run at a time in a course: a second one would take the first one's notebooks for those of a dead run."""

import fcntl
import getpass
import os
import socket
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

FILE = "autograde.lock"


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
