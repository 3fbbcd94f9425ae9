"""Room on a course's disk. A run stops while there is some: a full disk would fail every submission that is left."""

import os
from pathlib import Path

NEEDED = 64  # MB: more than nbgrader writes for one submission


class DiskFull(BaseException):
    """The message says how much is free. No Exception, which nbgrader takes for the failure of one submission."""


def require(root: Path) -> None:
    """Raises DiskFull."""
    disk = os.statvfs(root)
    free = disk.f_bavail * disk.f_frsize >> 20
    if free < NEEDED:
        raise DiskFull(
            f"only {free} MB are free on the disk of {root}, and a run needs {NEEDED}. What was graded is kept; free "
            "some space, and the same command goes on from here"
        )
