"""Ctrl-C during ``nbgrader autograde``: one sentence and exit status 130, whatever the process was doing.

Python's own handler raises KeyboardInterrupt in whatever code runs at that moment. Where that is a finalizer or a
callback, Python prints the exception and drops it, and the run goes on. The handler here remembers that it was called,
nothing is printed, and the run asks (`raise_if_asked`) between submissions and between checks.
"""

import contextlib
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

EXIT = 130  # the exit status of a command that Ctrl-C ended
KEPT = "Stopped. What was graded is kept; the same command goes on from here."
NOTHING = "Stopped before anything was graded."

_grading = _asked = False
_sentence = NOTHING


def install() -> None:
    """Replaces Python's own handler, in the command ``nbgrader autograde`` alone: other programs, Jupyter's server
    among them, read the course's configuration too. A handler that is not Python's own stays, and so does a SIGINT that
    is ignored.
    """
    if sys.argv[1:2] == ["autograde"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
        sys.unraisablehook = functools.partial(_dropped, sys.unraisablehook)


@contextlib.contextmanager
def grading() -> Iterator[None]:
    """While submissions are graded, an interruption is a KeyboardInterrupt, and one that was dropped is remembered.
    Before and after, it ends the command ``nbgrader autograde``; other programs have their own handler again.
    """
    global _grading, _asked, _sentence
    _grading, _asked = True, False
    before = signal.getsignal(signal.SIGINT)
    ours = before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, _interrupted)
    try:
        yield
    finally:
        _grading, _sentence = False, KEPT
        if ours:
            signal.signal(signal.SIGINT, before)


def raise_if_asked() -> None:
    """Raises KeyboardInterrupt where an earlier one was dropped."""
    if _asked:
        raise KeyboardInterrupt


def _interrupted(number: int, frame: FrameType | None) -> None:
    global _asked
    if not _grading:  # nothing to clean up; an exception would show the frames of whatever is being imported
        os.write(2, f"{_sentence}\n".encode())
        os._exit(EXIT)
    _asked = True
    raise KeyboardInterrupt


def _dropped(show: Callable[..., Any], unraisable: "sys.UnraisableHookArgs") -> None:
    if not (_asked and unraisable.exc_type is KeyboardInterrupt):
        show(unraisable)
