"""Monitors a running child: its reports, output, processor time and memory; kills it where it exceeds a limit."""

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
_KILL_WAIT = 60.0  # seconds for a killed process to end, on a busy machine
_REPORT = 4 << 20  # bytes that are kept of a child's report on one call
SHOWN = 64 << 10  # bytes that are kept of what it prints in all calls
_CHUNK = 1 << 16

# Called with the number of calls that a child has made and its reports on them; returns whether to make another.
Proceed = Callable[[int, bytes], bool]


@dataclass(frozen=True)
class Limits:
    """What one call, and all calls of one answer together, may take.

    seconds: processor time of one call, including loading the answer. total_seconds: of all calls; after that no more
    are made. wall_factor: the limits of wall-clock time, as a multiple of these: an answer that sleeps or waits is
    ended as well, and one on a busy machine is not. memory: bytes an answer may hold in addition to its inputs and
    outputs. grace: bytes beyond these that the monitor tolerates; the limit of the process itself does not change.
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
    """A limit that was exceeded. kind: ``processor``, ``clock``, ``memory`` or ``printed``; scope: ``call``, or that of
    a `Budget`; seconds: the limit, if it is one of time.
    """

    kind: str
    scope: str = "call"
    seconds: float = 0.0


@dataclass
class Budget:
    """What several calls may take together. scope: ``answer`` or ``notebook``; seconds: the limit of processor time;
    spent: processor time so far; waited: wall-clock time so far.
    """

    scope: str
    seconds: float
    spent: float = 0.0
    waited: float = 0.0

    def broken(self, wall_factor: float, spent: float = 0.0, waited: float = 0.0) -> Broken | None:
        """The limit that is exceeded after ``spent`` and ``waited`` more seconds, if any."""
        if self.spent + spent >= self.seconds:
            return Broken("processor", self.scope, self.seconds)
        by_clock = self.seconds * wall_factor
        return Broken("clock", self.scope, by_clock) if self.waited + waited >= by_clock else None


@dataclass(frozen=True)
class Task:
    """What a child does: load an answer in ``steps`` steps, then make up to ``calls`` calls.

    shared: bytes of inputs and outputs. addresses: bytes of address space that inputs reserve without using memory.
    modules: the worker imports these before it forks, so that its children have them.
    """

    steps: int
    calls: int
    proceed: Proceed
    shared: int
    addresses: int = 0
    modules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    status: exit status, negative for a signal. killed: the limit it exceeded, if any. loaded: how many steps of loading
    it finished. begun: how many calls it was asked to make. reports: a line of JSON for each call that it made.
    """

    status: int
    killed: Broken | None
    loaded: int
    begun: int
    reports: tuple[bytes, ...]
    printed: str


class Child:
    """A running child. Leaving the ``with`` block ends it, and charges the ``budgets`` with what it used."""

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
        if self.killed or self.begun == self.task.calls or not self.task.proceed(self.begun, calls):
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
        if self.killed and time.monotonic() > self.killed_at + _KILL_WAIT:
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
