"""Watches a running child from outside: its reports, its output, its time, its memory; and kills it."""

import contextlib
import io
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .wire import checked
from .worker import linux

_TICK = 0.02
_STUBBORN = 60.0  # seconds for a killed process to end, on a busy machine
_REPORT = 4 << 20  # bytes that are kept of a child's report on one call
SHOWN = 64 << 10  # and of what it prints in all of them
_CHUNK = 1 << 16

# Called with the number of calls a child has made and its reports on them: whether it is to make another.
Between = Callable[[int, bytes], bool]


@dataclass(frozen=True)
class Limits:
    """What one call, and all calls of one answer together, may take.

    seconds: processor time of one call, loading the answer included. total_seconds: of all calls; later ones are not
    made. wall_factor: how many times as long each of them may take by the clock: what sleeps or waits ends, too, and a
    machine that is busy with something else ends nothing. memory: bytes an answer may hold in addition to its inputs
    and outputs. grace: bytes beyond these that the watch lets pass; the limit of the process itself stays as it is.
    printed: bytes that one call may print.
    """

    seconds: float = 20.0
    total_seconds: float = 120.0
    memory: int = 2 << 30
    printed: int = 1 << 20
    wall_factor: float = 10.0
    grace: int = 0


@dataclass(frozen=True)
class Broken:
    """A limit that was broken. kind: ``processor``, ``clock``, ``memory`` or ``printed``; scope: ``call``, or that of a
    `Budget`; seconds: how many there were.
    """

    kind: str
    scope: str = "call"
    seconds: float = 0.0


@dataclass
class Budget:
    """What many calls may take together. scope: ``answer`` or ``notebook``; seconds: of processor time; spent: of
    those; waited: seconds of wall-clock time.
    """

    scope: str
    seconds: float
    spent: float = 0.0
    waited: float = 0.0

    def broken(self, wall_factor: float, spent: float = 0.0, waited: float = 0.0) -> Broken | None:
        """What is used up after so much more of both."""
        if self.spent + spent >= self.seconds:
            return Broken("processor", self.scope, self.seconds)
        by_clock = self.seconds * wall_factor
        return Broken("clock", self.scope, by_clock) if self.waited + waited >= by_clock else None


@dataclass(frozen=True)
class Task:
    """What a child is to do: load an answer in so many ``steps``, then make ``calls`` calls.

    shared: bytes of inputs and outputs. addresses: bytes of addresses that inputs take where nothing lies.
    modules: that the worker imports before it forks, so that its children find them.
    """

    steps: int
    calls: int
    between: Between
    shared: int
    addresses: int = 0
    modules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    status: exit status, negative for a signal. killed: the limit it broke, if any. loaded: how many steps of loading it
    finished. begun: how many calls it was told to make. reports: a line of JSON for each that it made.
    """

    status: int
    killed: Broken | None
    loaded: int
    begun: int
    reports: tuple[bytes, ...]
    printed: str


class Child:
    """A running child. Leaving the block ends it, and adds what it took to the ``budgets``."""

    def __init__(self, handle: int, task: Task, limits: Limits, budgets: Sequence[Budget]):
        self.handle, self.task, self.limits, self.budgets = handle, task, limits, budgets
        self.pid = linux.pid_of(handle)
        self.most = (linux.resident(self.pid) or 0) + limits.memory + limits.grace + 2 * task.shared
        self.started, self.used = time.monotonic(), 0.0
        self.killed: Broken | None = None
        self.killed_at, self.begun = 0.0, 0
        self.reports, self.shown = b"", b""

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *error) -> None:
        self._kill(None)
        os.close(self.handle)
        for budget in self.budgets:
            budget.spent += self.used
            budget.waited += time.monotonic() - self.started

    def watched(self, control: socket.socket, prints: io.FileIO, status: io.FileIO, go: io.FileIO) -> Ended:
        """Until the worker reports over ``control`` that the child has ended. A line to ``go`` begins the next call."""
        pipes = {prints: self._read_prints, status: self._read_status}
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
            if not go.closed and self.reports.count(b"\n") >= self.task.steps + self.begun:
                self._finish(prints)
                self._next(go)
            if control in ready:
                message = control.recv(_CHUNK)
                if not message:
                    raise OSError("it ended")
                end = checked.loads(message)
                code, self.used = end["ended"], end["seconds"]
        # What was written before the end can still be read; the writer is gone.
        self._finish(prints)
        while self._read_status(status.read(_CHUNK)):
            pass
        lines = self.reports.split(b"\n")[:-1]
        loaded, reports = min(len(lines), self.task.steps), tuple(lines[self.task.steps : self.task.steps + self.begun])
        return Ended(code, self.killed, loaded, self.begun, reports, self.shown.decode(errors="replace"))

    def _begin(self) -> None:
        self._measure()
        self.begun, self.printed = self.begun + 1, 0
        self.before, self.at = self.used, time.monotonic()

    def _next(self, go: io.FileIO) -> None:
        """Begins the next call, or lets the child end."""
        calls = self.reports.split(b"\n", self.task.steps)[-1]
        if self.killed or self.begun == self.task.calls or not self.task.between(self.begun, calls):
            return go.close()
        self._begin()
        with contextlib.suppress(BrokenPipeError):
            go.write(b"\n")

    def _finish(self, prints: io.FileIO) -> None:
        """Reads all that a call printed; the child waits, or is dead."""
        while not self.killed and self._read_prints(prints.read(_CHUNK)):
            pass

    def _read_prints(self, chunk: bytes | None) -> bool:
        self.printed += len(chunk or b"")
        self.shown += (chunk or b"")[: SHOWN - len(self.shown)]
        if self.printed > self.limits.printed:
            self._kill(Broken("printed"))
        return bool(chunk)

    def _read_status(self, chunk: bytes | None) -> bool:
        self.reports += (chunk or b"")[: self.begun * _REPORT - len(self.reports)]
        return bool(chunk)

    def _measure(self) -> None:
        self.used = max(self.used, linux.processor_time(self.pid) or 0.0)

    def _enforce(self) -> None:
        if self.killed and time.monotonic() > self.killed_at + _STUBBORN:
            raise OSError("a child could not be ended")
        self._measure()
        broken = self._broken()
        if broken:
            self._kill(broken)

    def _broken(self) -> Broken | None:
        now, factor = time.monotonic(), self.limits.wall_factor
        for budget in self.budgets:
            if broken := budget.broken(factor, self.used, now - self.started):
                return broken
        seconds = self.limits.seconds
        if self.used - self.before > seconds:
            return Broken("processor", seconds=seconds)
        if now - self.at > seconds * factor:
            return Broken("clock", seconds=seconds * factor)
        return Broken("memory") if (linux.resident(self.pid) or 0) > self.most else None

    def _kill(self, why: Broken | None) -> None:
        if not self.killed:
            self.killed, self.killed_at = why, time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)
