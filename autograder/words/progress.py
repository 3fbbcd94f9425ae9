"""Says what a check is doing, for a person who waits: one line from the third second on, replaced by the report."""

import os
import shutil
import sys
import threading
import time
from typing import Any, TextIO

from .ipython import shell

AFTER, EVERY, LONG = 2.0, 0.5, 20.0  # seconds


class Progress:
    """A ``with`` block around a check. ``at`` says what is under way; nothing is shown where it would not be seen: no
    notebook, no terminal, or a notebook that nbgrader runs.

    limited: whether a time limit ends each call, so that nobody has to interrupt it.
    """

    def __init__(
        self,
        name: str,
        after: float = AFTER,
        every: float = EVERY,
        stream: TextIO | None = None,
        limited: bool = False,
    ):
        self.name, self.after, self.every, self.limited = name, after, every, limited
        self.line = _line(stream or sys.stderr)
        self.where = ""

    def at(self, where: str) -> None:
        """Notes what the check does from now on."""
        self.where, self.since = where, time.monotonic()

    def __enter__(self) -> "Progress":
        self.begun = self.since = time.monotonic()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(self.line,), daemon=True) if self.line else None
        if self.thread:
            self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.done.set()
        if self.thread and self.line:
            self.thread.join()
            self.line.clear()

    def _run(self, line: "NotebookLine | Terminal") -> None:
        wait = self.after
        while not self.done.wait(wait):
            line.show(self.text())
            wait = self.every

    def text(self) -> str:
        """Returns the line to show now, with the seconds since the check began."""
        now = time.monotonic()
        here = f" ({now - self.since:.0f} s)" if now - self.since >= self.after else ""
        text = f"checking {self.name}, {now - self.begun:.0f} s: {self.where}{here}"
        if self.limited or now - self.since < LONG:
            return text
        return f"{text}. If it is an endless loop, interrupt: the message names its line."


def _line(stream: TextIO) -> "NotebookLine | Terminal | None":
    if "NBGRADER_EXECUTION" in os.environ:
        return None
    if getattr(shell(), "kernel", None):
        return NotebookLine()
    return Terminal(stream) if stream.isatty() else None


class NotebookLine:
    """A line of a notebook cell's output."""

    def __init__(self) -> None:
        self.handle: Any = None

    def show(self, text: str) -> None:
        """Shows the text, in place of the last one."""
        data = {"text/plain": text}
        if self.handle is None:
            from IPython.display import display

            self.handle = display(data, raw=True, display_id=True)
        else:
            self.handle.update(data, raw=True)

    def clear(self) -> None:
        """Removes the line."""
        if self.handle:
            self.handle.update({"text/html": "", "text/plain": ""}, raw=True)


class Terminal:
    """The last line of a terminal."""

    def __init__(self, stream: TextIO):
        self.stream, self.shown = stream, False

    def show(self, text: str) -> None:
        """Shows the text, in place of the last one."""
        self.stream.write(f"\r\033[K{text[: shutil.get_terminal_size().columns - 1]}")
        self.stream.flush()
        self.shown = True

    def clear(self) -> None:
        """Removes the line."""
        if self.shown:
            self.stream.write("\r\033[K")
            self.stream.flush()

    @staticmethod
    def wants_color(stream: TextIO) -> bool:
        """Says whether to colour what goes to ``stream``. https://no-color.org: ``NO_COLOR``, unless empty, says no."""
        return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
