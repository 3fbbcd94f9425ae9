"""Monitors a running child: its reports, output, processor time and memory; kills it where it exceeds a limit."""

import contextlib
import io
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .wire import checked
from .worker import linux

_TICK = 0.02
_KILL_WAIT = 60.0  # seconds for a killed process to end, on a busy machine
_REPORT = 4 << 20  # bytes that are kept of a child's report on one call
SHOWN = 64 << 10  # bytes that are kept of what it prints in all calls
_CHUNK = 1 << 16
_PERSISTENT_ROOM = 16 << 20
_counting = threading.Lock()  # children that run at the same time may have a budget together

# Called with the number of calls that a child has made and its reports on them; returns whether to make another.
Proceed = Callable[[int, bytes], bool]


@dataclass(frozen=True)
class Limits:
    """Holds what one call, and all calls of one answer together, may take.

    seconds: processor time of one call, including loading the answer. total_seconds: of all calls; after that no more
    are made. wall_factor: the limits of wall-clock time, as a multiple of these: an answer that sleeps or waits is
    ended as well, and one on a busy machine is not. idle: seconds that the processes of one answer may sleep while they
    load it, all together: each of them waits for a cell that sleeps, and no busy machine is the cause. memory: bytes an
    answer may hold in addition to its inputs and outputs. grace: bytes beyond these that the monitor tolerates; the
    limit of the process itself does not change.
    """

    seconds: float = 20.0
    total_seconds: float = 120.0
    memory: int = 2 << 30
    wall_factor: float = 10.0
    idle: float = 10.0
    grace: int = 0


@dataclass(frozen=True)
class Broken:
    """A limit that was exceeded. kind: ``processor``, ``clock``, ``idle`` or ``memory``; scope: ``call``, or that of
    a `Budget`; seconds: the limit, if it is one of time.
    """

    kind: str
    scope: str = "call"
    seconds: float = 0.0


@dataclass
class Budget:
    """Holds what several calls may take together. scope: ``answer`` or ``notebook``; seconds: the limit of processor
    time; spent: processor time so far; waited: wall-clock time so far; idle: what of it was slept while loading.
    """

    scope: str
    seconds: float
    spent: float = 0.0
    waited: float = 0.0
    idle: float = 0.0

    def broken(self, wall_factor: float, waited: float = 0.0) -> Broken | None:
        """The limit that is exceeded after ``waited`` more seconds by the clock, if any."""
        if self.spent >= self.seconds:
            return Broken("processor", self.scope, self.seconds)
        by_clock = self.seconds * wall_factor
        return Broken("clock", self.scope, by_clock) if self.waited + waited >= by_clock else None


@dataclass(frozen=True)
class Task:
    """Holds what a child does: load an answer in ``steps`` steps, then make up to ``calls`` calls.

    shared: bytes of inputs and outputs. addresses: bytes of address space that inputs reserve without using memory.
    modules: the worker imports these before it forks, so that its children have them.
    persistent: whether the child waits for another task when it has done this one.
    basic: whether the files of PyTorch that compose operators are hidden from it.
    """

    steps: int
    calls: int
    proceed: Proceed
    shared: int
    addresses: int = 0
    modules: tuple[str, ...] = ()
    persistent: bool = False
    basic: bool = False

    @property
    def room(self) -> int:
        """Bytes of memory that the child can share at one time: later tasks may need more than the first."""
        return max(self.shared, _PERSISTENT_ROOM) if self.persistent else self.shared


class Ends(NamedTuple):
    """This process's ends of a child's pipes. go: a line to it begins the next call, descriptors another task."""

    prints: io.FileIO
    status: io.FileIO
    go: socket.socket
    end: io.FileIO


@dataclass(frozen=True)
class ChildExit:
    """Holds how a child ended, or a task of one that waits for another.

    status: exit status, negative for a signal; None if the child waits. killed: the limit it exceeded, if any. loaded:
    how many steps of loading it finished. begun: how many calls it was asked to make. reports: a line of JSON for each
    call that it made.
    """

    status: int | None
    killed: Broken | None
    loaded: int
    begun: int
    reports: tuple[bytes, ...]
    printed: str


class Child:
    """A running child. Leaving the ``with`` block ends it. The ``budgets`` are charged with what it uses."""

    def __init__(
        self,
        handle: int,
        ends: Ends,
        stack: contextlib.ExitStack,
        task: Task,
        limits: Limits,
        budgets: Sequence[Budget],
    ):
        """stack: closes the ``ends``."""
        self.handle, self.ends, self.limits, self.budgets = handle, ends, limits, budgets
        self.room = task.room
        self._stack = stack
        self._stack.callback(os.close, handle)
        for pipe in (ends.prints, ends.status):
            os.set_blocking(pipe.fileno(), False)
        self.process = linux.ProcessStatus(linux.pid_of(handle))
        self._stack.callback(self.process.close)
        self.resident, self.used, self.counted = self.process.resident() or 0, 0.0, 0.0
        self.code: int | None = None
        self.killed: Broken | None = None
        self.killed_at = 0.0
        self._take(task)

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends it, and waits for that."""
        with self._stack:
            self._kill(None)
            with contextlib.suppress(OSError):
                if self.code is None and select.select([self.ends.end], [], [], _KILL_WAIT)[0]:
                    self._read_end()
            self._count(0.0)

    def _take(self, task: Task) -> None:
        self.task, self.begun, self.reports, self.shown = task, 0, b"", b""
        self.most = self.resident + self.limits.memory + self.limits.grace + 2 * task.shared
        self.started = self.looked = time.monotonic()

    def again(self, files: Sequence[int], task: Task) -> None:
        """Another task, for a child that waits for one. Raises OSError where it no longer does."""
        self._take(task)
        socket.send_fds(self.ends.go, [b"task"], files)

    def watched(self) -> ChildExit:
        """Until the task is done, by a child that then waits for another, or the worker reports that the child has
        ended.
        """
        try:
            return self._watched()
        finally:
            self._count(time.monotonic() - self.started)
            del self.task  # it holds the memory of its calls

    def _watched(self) -> ChildExit:
        prints, status, go, end = self.ends
        pipes = {prints: self._read_prints, status: self._read_status}
        self._measure()
        self._begin()
        while self.code is None:
            ready = select.select([end, *pipes], [], [], _TICK)[0]
            self._enforce(read=pipes.keys().isdisjoint(ready))
            for pipe in pipes.keys() & ready:
                if not pipes[pipe](pipe.read(_CHUNK)):
                    del pipes[pipe]
            if go.fileno() >= 0 and self.reports.count(b"\n") >= self.task.steps + self.begun:
                self._finish()
                if not self._next():
                    if self.task.persistent and not self.killed:
                        break
                    go.close()
            if end in ready:
                self._read_end()
        if self.code is not None:  # What was written before the end can still be read; the writer is gone.
            self._finish()
            while self._read_status(status.read(_CHUNK)):
                pass
        lines = self.reports.split(b"\n")[:-1]
        loaded, reports = min(len(lines), self.task.steps), tuple(lines[self.task.steps : self.task.steps + self.begun])
        shown = self.shown.decode(errors="replace")
        return ChildExit(self.code, self.killed, loaded, self.begun, reports, shown)

    def _read_end(self) -> None:
        message = self.ends.end.read(_CHUNK)
        if not message:
            raise OSError("the worker ended")
        ended = checked.loads(message)
        self.code, self.used = ended["ended"], max(self.used, ended["seconds"])

    def _count(self, waited: float) -> None:
        """Adds to the budgets what was not added before."""
        with _counting:
            for budget in self.budgets:
                budget.spent += self.used - self.counted
                budget.waited += waited
        self.counted = self.used

    def _count_idle(self, read: bool) -> None:
        """The time since the last look, if the child loads and sleeps. Not all of it where this process had to wait,
        and nothing where the child may be waiting until it is read.
        """
        last, self.looked = self.looked, time.monotonic()
        if read and self.reports.count(b"\n") < self.task.steps and self.process.sleeps():
            with _counting:
                for budget in self.budgets:
                    budget.idle += min(self.looked - last, 5 * _TICK)

    def _begin(self) -> None:
        """Right after a look at the processor time."""
        self.begun += 1
        self.before, self.at = self.used, time.monotonic()

    def _next(self) -> bool:
        """Begins the next call, if there is one."""
        calls = self.reports.split(b"\n", self.task.steps)[-1]
        if self.killed or self.begun == self.task.calls or not self.task.proceed(self.begun, calls):
            return False
        self._begin()
        with contextlib.suppress(OSError):  # it is dead, which the worker reports
            self.ends.go.send(b"call")
        return True

    def _finish(self) -> None:
        """Reads what a call printed, as far as it is kept; the child waits, or is dead."""
        while len(self.shown) < SHOWN and self._read_prints(self.ends.prints.read(_CHUNK)):
            pass

    def _read_prints(self, chunk: bytes | None) -> bool:
        """Returns what is too much is dropped: the call goes on, and its time ends what prints without end."""
        self.shown += (chunk or b"")[: SHOWN - len(self.shown)]
        return bool(chunk)

    def _read_status(self, chunk: bytes | None) -> bool:
        self.reports += (chunk or b"")[: self.begun * _REPORT - len(self.reports)]
        return bool(chunk)

    def _measure(self) -> None:
        self.used = max(self.used, self.process.processor_time() or 0.0)

    def _enforce(self, read: bool) -> None:
        """read: whether all that the child wrote has been read."""
        if self.killed and time.monotonic() > self.killed_at + _KILL_WAIT:
            raise OSError("a child could not be ended")
        self._measure()
        self._count(0.0)  # at once, for the children that have a budget with this one
        self._count_idle(read)
        broken = self._broken()
        if broken:
            self._kill(broken)

    def _broken(self) -> Broken | None:
        now, factor = time.monotonic(), self.limits.wall_factor
        for budget in self.budgets:
            if broken := budget.broken(factor, now - self.started):
                return broken
            if budget.scope == "answer" and budget.idle > self.limits.idle:
                return Broken("idle", seconds=self.limits.idle)
        seconds = self.limits.seconds
        if self.used - self.before > seconds:
            return Broken("processor", seconds=seconds)
        if now - self.at > seconds * factor:
            return Broken("clock", seconds=seconds * factor)
        return Broken("memory") if (self.process.resident() or 0) > self.most else None

    def _kill(self, why: Broken | None) -> None:
        if not self.killed:
            self.killed, self.killed_at = why, time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)
