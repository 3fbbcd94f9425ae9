"""The parent's side of a worker: starts it, sends it the requests for children, and ends it."""

import contextlib
import io
import json
import os
import select
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

from . import launcher
from .probe import SandboxError, probe, require
from .roles import Role
from .watch import Budget, Child, ChildExit, Ends, Limits, Task
from .wire import checked

_START = 600.0  # seconds for the worker's imports, on a slow disk or a busy machine
_GRACE = 2.0  # seconds for a worker that is ready to end by itself when its socket is closed


class WorkerLost(Exception):
    """The worker ended during a call. The next call starts another."""


class Host:
    """A process that forks a child for every task. It serves any number of answers and keeps no state of them.

    level: the level of isolation, by default the best available. role: what its children do. lost: how many times the
    process ended during a call. Raises SandboxError if the level is not available.
    """

    def __init__(self, level: str | None, role: Role):
        best = level or probe().level
        if best is None:
            raise SandboxError(f"{probe()}. Check without isolation instead.")
        require(best)
        self.level, self.role = best, role
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._waiting = False
        self.starts = 0  # of the process so far; its children end with it
        self.lost = 0
        self.spent = 0.0  # processor time of the process itself, without its start: forks, and what children left

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process, and its children that are running; at once where its imports are still going on."""
        with self._lock:  # of threads that wait for its children, each finds that it ended
            process, control, ready = self._process, self._control, not self._waiting
            self._process = self._control = None
        if process is None or control is None:
            return
        control.close()
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE if ready else 0)
        finally:
            launcher.kill(process)

    def _started(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        if self._process is None or self._control is None:
            raise OSError("the worker ended")
        return self._process, self._control

    def run(self, files: dict[str, int], task: Task, limits: Limits, budgets: Sequence[Budget]) -> ChildExit:
        """One child, from fork to exit. files: descriptors of ``job``, ``inputs``, ``outputs``. budgets: are charged
        with the time that it takes.
        """
        with self.begin(files, task, limits, budgets) as child:
            return self.watched(child)

    def begin(self, files: dict[str, int], task: Task, limits: Limits, budgets: Sequence[Budget]) -> Child:
        """A child that has begun a task: see `run`. The caller closes it."""
        with self._lock:
            self.ready()
            with self._or_lost():
                return self._begin(files, task, limits, budgets)

    def watched(self, child: Child) -> ChildExit:
        """Waits until a child has done its task."""
        with self._or_lost():
            return child.watched()

    def runs(self) -> bool:
        """Returns whether its process is running."""
        return self._process is not None and self._process.poll() is None

    @contextlib.contextmanager
    def _or_lost(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:  # an interruption, too, leaves a request without a reply
            self.close()
            if isinstance(error, OSError | ValueError | LookupError | TypeError):
                self.lost += 1
                raise WorkerLost(str(error)) from None
            raise

    def start(self) -> None:
        """Starts the process if it is not running, without waiting for its imports: the first call waits."""
        if self.runs():
            return
        self.close()
        if self.role.folder:
            launcher.make_again(self.role.folder)
        self.starts += 1
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._complaints, self._waiting = tempfile.TemporaryFile(), True
        with theirs:
            self._process = subprocess.Popen(
                self.role.command(self.level, theirs.fileno()),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._complaints,
                env=self.role.environment,
                cwd="/",
                start_new_session=True,
            )

    def ready(self) -> None:
        """Starts the process if it is not running, and waits until it is ready. Raises SandboxError if it fails."""
        with self._lock:
            self.start()
            if not self._waiting:
                return
            self._waiting = False
            self._wait()

    def _wait(self) -> None:
        process, control = self._started()
        with self._complaints as complaints:
            if not select.select([control], [], [], _START)[0] or not control.recv(1 << 16):
                launcher.kill(process)
                self.close()
                complaints.seek(0)
                reason = complaints.read().decode(errors="replace").strip()[-1000:]
                raise SandboxError(f"the worker did not start: {reason or 'no reason given'}")

    def _begin(self, files: dict[str, int], task: Task, limits: Limits, budgets: Sequence[Budget]) -> Child:
        seconds = max(task.calls * limits.seconds, limits.total_seconds if task.persistent else 0)
        wanted = {"seconds": seconds, "memory": limits.memory, "shared": task.room} | {
            "addresses": task.addresses,
            "modules": task.modules,
            "basic": task.basic,
        }
        _, control = self._started()
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            prints, status, end = (_pipe(ours, theirs) for _ in range(3))
            go, their_go = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            their_go.shutdown(socket.SHUT_WR)  # what an answer wrote there would never be read
            ours.enter_context(go)
            theirs.enter_context(their_go)
            descriptors = [files["job"], files["inputs"], files["outputs"]]
            descriptors += [prints.theirs, status.theirs, their_go.fileno(), end.theirs]
            socket.send_fds(control, [json.dumps(wanted).encode()], descriptors)
            message, handles, _, _ = socket.recv_fds(control, 1 << 16, 1)
            if not handles:
                raise OSError("no child")
            self.spent += checked.number(checked.loads(message)["seconds"])
            ends = Ends(prints.ours, status.ours, go, end.ours)
            return Child(handles[0], ends, ours.pop_all(), task, limits, budgets)


class _Pipe(NamedTuple):
    """ours: to read from. theirs: the descriptor to write to."""

    ours: io.FileIO
    theirs: int


def _pipe(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> _Pipe:
    read, write = os.pipe()
    return _Pipe(ours.enter_context(io.FileIO(read, "r")), theirs.enter_context(io.FileIO(write, "w")).fileno())
