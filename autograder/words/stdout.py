"""Standard output of a command that runs other people's code."""

import os
import sys
from typing import TextIO


def keep_stdout() -> TextIO:
    """The terminal or pipe that stdout was. From now on all else that is printed, also by C code, goes to stderr.

    It is never undone: what a thread or an exit handler of the answer prints later must not follow the report.
    """
    sys.stdout.flush()
    kept = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors="backslashreplace")
    os.dup2(2, 1)
    return kept
