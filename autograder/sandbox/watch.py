"""Watches a running child from outside: what it says and prints, its time, its memory; and ends it."""

import contextlib
import io
import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from . import linux

_TICK = 0.02
_SAID = 4 << 20  # bytes that are kept of what a child says of one call
SHOWN = 64 << 10  # and of what it prints in all of them
_CHUNK = 1 << 16

# Called when a child has made so many calls and said so much: whether it is to make another.
Between = Callable[[int, bytes], bool]


@dataclass(frozen=True)
class Limits:
    """What one call, and all calls of one answer together, may take.

    seconds: wall clock of one call, loading the answer included. total_seconds: of all calls; later ones are not made.
    memory: bytes an answer may hold beside its inputs and outputs. printed: bytes that one call may print.
    """

    seconds: float = 20.0
    total_seconds: float = 120.0
    memory: int = 2 << 30
    printed: int = 1 << 20


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    status: exit status, negative for a signal. killed: "" or the limit it broke: ``seconds``, ``total_seconds``,
    ``memory``, ``printed``. begun: how many calls it was told to make. said: a line for each that it made.
    """

    status: int
    killed: str
    begun: int
    said: tuple[bytes, ...]
    printed: str


class Child:
    """A running child that is to make ``calls`` calls. Leaving the block ends it."""

    def __init__(self, handle: int, limits: Limits, shared: int, calls: int, between: Between):
        self.handle, self.limits, self.calls, self.between = handle, limits, calls, between
        self.pid = linux.pid_of(handle)
        self.most = (linux.resident(self.pid) or 0) + limits.memory + 2 * shared
        self.last = time.monotonic() + limits.total_seconds
        self.killed, self.begun = "", 0
        self.said, self.shown = b"", b""

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *error) -> None:
        self._kill("")
        os.close(self.handle)

    def watched(self, control: socket.socket, prints: io.FileIO, status: io.FileIO, go: io.FileIO) -> Ended:
        """Until the worker says, over ``control``, that the child has ended. A line to ``go`` begins the next call."""
        pipes = {prints: self._hear, status: self._listen}
        for pipe in pipes:
            os.set_blocking(pipe.fileno(), False)
        self._begin()
        code = None
        while code is None:
            ready = select.select([control, *pipes], [], [], _TICK)[0]
            self._enforce()
            for pipe in pipes.keys() & ready:
                if not pipes[pipe](pipe.read(_CHUNK)):
                    del pipes[pipe]
            if not go.closed and self.said.count(b"\n") >= self.begun:
                self._finish(prints)
                self._next(go)
            if control in ready:
                message = control.recv(_CHUNK)
                if not message:
                    raise OSError("it ended")
                code = json.loads(message)["ended"]
        # What was written before the end is still there to read; nobody is left to write more.
        self._finish(prints)
        while self._listen(status.read(_CHUNK)):
            pass
        lines = tuple(self.said.split(b"\n")[:-1][: self.begun])
        return Ended(code, self.killed, self.begun, lines, self.shown.decode(errors="replace"))

    def _begin(self) -> None:
        self.begun, self.printed = self.begun + 1, 0
        self.deadline = min(time.monotonic() + self.limits.seconds, self.last)

    def _next(self, go: io.FileIO) -> None:
        """Begins the next call, or lets the child end."""
        if self.killed or self.begun == self.calls or not self.between(self.begun, self.said):
            return go.close()
        self._begin()
        with contextlib.suppress(BrokenPipeError):
            go.write(b"\n")

    def _finish(self, prints: io.FileIO) -> None:
        """Hears what a call printed to its end; the child waits, or is dead."""
        while not self.killed and self._hear(prints.read(_CHUNK)):
            pass

    def _hear(self, chunk: bytes | None) -> bool:
        self.printed += len(chunk or b"")
        self.shown += (chunk or b"")[: SHOWN - len(self.shown)]
        if self.printed > self.limits.printed:
            self._kill("printed")
        return bool(chunk)

    def _listen(self, chunk: bytes | None) -> bool:
        self.said += (chunk or b"")[: self.begun * _SAID - len(self.said)]
        return bool(chunk)

    def _enforce(self) -> None:
        now = time.monotonic()
        if now > self.deadline:
            self._kill("total_seconds" if now > self.last else "seconds")
        elif (linux.resident(self.pid) or 0) > self.most:
            self._kill("memory")
        if now > self.deadline + 10:
            raise OSError("a child could not be ended")

    def _kill(self, why: str) -> None:
        self.killed = self.killed or why
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)
