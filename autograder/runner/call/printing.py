"""Says what an answer prints while it is checked. A kernel prints once a program, and a check runs it hundreds of
times.
"""

import contextlib
import io
import sys
from collections.abc import Iterator
from typing import TextIO

from .error_line import interrupted

LINES, CHARACTERS = 10, 2000


class Few(io.TextIOBase):
    """Writes the first lines through to ``stream`` and counts the others."""

    def __init__(self, stream: TextIO, lines: int = LINES, characters: int = CHARACTERS):
        self.stream, self.lines, self.characters = stream, lines, characters
        self.left_out = 0  # characters
        self.more = 0  # lines
        self.begun = False  # whether the line that is being written was begun before the limit

    def writable(self) -> bool:
        """Returns True, as a stream of text does that can be written to."""
        return True

    def write(self, text: str) -> int:
        """Writes what fits and counts the rest; returns the number of characters, as any stream does."""
        for line in text.splitlines(keepends=True):
            self._line(line)
        return len(text)

    def _line(self, line: str) -> None:
        if self.lines > 0 and self.characters > 0:
            shown = line[: self.characters]
            self.stream.write(shown)
            self.characters -= len(shown)
            self.left_out += len(line) - len(shown)
            self.lines -= line.endswith("\n")
            self.begun = not shown.endswith("\n")
        else:
            self.left_out += len(line)
            self.more += line.endswith("\n")

    def flush(self) -> None:
        """Flushes the stream below."""
        self.stream.flush()

    def finish(self) -> None:
        """Says how much was left out."""
        if self.left_out:
            many = f"{self.more:,} more line{'s' if self.more != 1 else ''}" if self.more else "the rest"
            self.stream.write(
                f"{chr(10) * self.begun}... {many} ({self.left_out:,} characters) of what your code printed: a check "
                "calls it many times, and a kernel prints in every program. To see one call, make it yourself.\n"
            )


@contextlib.contextmanager
def for_a_reader(name: str) -> Iterator[None]:
    """For whoever waits while the function ``name`` is called in the ``with`` block: what is printed to standard output
    is shortened, and an interruption says where it came, for of hundreds of frames the learner can use one.
    """
    few = Few(sys.stdout)
    try:
        with contextlib.redirect_stdout(few):
            yield
    except KeyboardInterrupt as error:
        raise interrupted(name, error).with_traceback(None) from None
    finally:
        few.finish()
