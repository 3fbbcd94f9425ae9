"""A process that may die of what it is asked. It answers a line of JSON with lines of JSON, in a session of its own,
and one that has ended is started again with the next question.

    class Reading:                          # whoever asks
        server = LineServer("package.reading")

    def main():                             # package/reading.py
        for line in sys.stdin.buffer:
            child = os.fork()               # which may die of this line alone
            ...
                LineServer.confine(readable=[path], seconds=20, memory=1 << 30)
"""

import contextlib
import functools
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Self

from . import launcher, paths
from .worker import confine, landlock, linux, seccomp

TICK = 0.2  # seconds between two looks at a process
_CHUNK = 1 << 20

# What a question has taken so far, in seconds of processor time and by the clock -> why it is ended, or ""
Late = Callable[[float, float], str]


class LineServer:
    """module: run as ``python -P -m module``. environment: its whole environment, this process's where it is None.
    errors: where its messages go, those of this process where it is None.
    """

    def __init__(self, module: str, environment: dict[str, str] | None = None, errors: IO[bytes] | None = None):
        self.module, self.environment, self.errors = module, environment, errors
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process. Another thread may wait for its answer, which then ends as well."""
        process, self._process = self._process, None
        if process is None:
            return
        launcher.kill(process)
        for pipe in (process.stdin, process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()

    def ask(self, question: str, late: Late = lambda processor, wall: "") -> Iterator[bytes]:
        """The lines of an answer, as they come; the caller knows which is the last. late: asked while the process
        computes. Raises EOFError where it ends before its answer does, or is ended: then the message says why.
        """
        process = self._started()
        began, before, text = time.monotonic(), processor_time(process.pid), b""
        try:
            assert process.stdin and process.stdout
            process.stdin.write(question.encode() + b"\n")
            process.stdin.flush()
            while True:
                if select.select([process.stdout], [], [], TICK)[0]:
                    chunk = os.read(process.stdout.fileno(), _CHUNK)
                    if not chunk:
                        break
                    *lines, text = (text + chunk).split(b"\n")
                    yield from lines
                elif why := late(processor_time(process.pid) - before, time.monotonic() - began):
                    self.close()
                    raise EOFError(why)
        except (OSError, ValueError):  # it ended, or another thread closed its pipes
            pass
        self.close()
        raise EOFError

    @staticmethod
    def questions() -> Iterator[str]:
        """In the process: the lines that it is asked, until there are no more. It ends with whoever asks."""
        if sys.platform == "linux":
            linux.prctl(linux.SET_PDEATHSIG, signal.SIGKILL)
        yield from sys.stdin

    @staticmethod
    def confine(readable: Iterable[str], seconds: int, memory: int) -> None:
        """Limits this process for good, before it reads what a stranger wrote: seconds of processor time, bytes of
        memory beyond what it has; no file to write, no process to start. Where the system can (Landlock, seccomp), it
        reads nothing but Python, the libraries, the grader and what is ``readable``, and reaches no network.

        It keeps its user's rights, so that it can read what only that user may.
        """
        confine.limit(seconds, memory, shared=0)
        if sys.platform != "linux":
            return
        linux.prctl(linux.SET_PDEATHSIG, signal.SIGKILL)
        linux.prctl(linux.SET_DUMPABLE, 0)
        if landlock.abi():
            landlock.restrict(landlock.rules([*_libraries(), *readable]))
        with contextlib.suppress(
            OSError, LookupError
        ):  # a kernel without filters, or a processor that has no list here
            seccomp.apply()

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", self.module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                start_new_session=True,  # Ctrl-C is for whoever asks
                env=self.environment,
            )
        return self._process


def processor_time(pid: int) -> float:
    """Seconds of processor time of a process so far, without its children's; 0 where the system does not say."""
    with contextlib.suppress(OSError), contextlib.closing(linux.ProcessStatus(pid)) as process:
        return process.processor_time(of_children=False) or 0.0
    return 0.0


@functools.cache
def _libraries() -> tuple[str, ...]:
    return (*paths.view().readable, str(paths.GRADER), *paths.DEVICES)
