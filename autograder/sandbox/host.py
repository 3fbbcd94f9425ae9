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
from collections.abc import Sequence
from typing import Self

from . import launcher
from .probe import SandboxError, probe, require
from .roles import Role
from .watch import Budget, Child, Ended, Limits, Task

_START = 600.0  # seconds for the worker's imports, on a slow disk or a busy machine
_GRACE = 2.0  # seconds for a worker to end by itself when its socket is closed


class WorkerLost(Exception):
    """The worker ended during a call. The next call starts another."""


class Host:
    """A process that forks a child for every call. One call at a time; it serves any number of answers and keeps no
    state of them.

    rung: the level of isolation, by default the best available. role: what its children do. lost: how many times the
    process ended during a call. Raises SandboxError if the rung is not available.
    """

    def __init__(self, rung: str | None, role: Role):
        self.rung, self.role = rung or probe().rung, role
        if self.rung is None:
            raise SandboxError(f"{probe()}. Check without isolation instead.")
        require(self.rung)
        self._lock = threading.RLock()
        self._process: subprocess.Popen | None = None
        self._control: socket.socket | None = None
        self._waiting = False
        self.lost = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process, and its child if one is running."""
        if self._process is None:
            return
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        launcher.kill(self._process)
        self._process = self._control = None

    def run(self, files: dict[str, int], task: Task, limits: Limits, budgets: Sequence[Budget]) -> Ended:
        """One child, from fork to exit. files: descriptors of ``job``, ``inputs``, ``outputs``. budgets: are charged
        with the time that it takes.
        """
        with self._lock:
            self.ready()
            try:
                return self._run(files, task, limits, budgets)
            except BaseException as error:  # an interruption, too, leaves a request without a reply
                self.close()
                if isinstance(error, OSError | ValueError | LookupError | TypeError):
                    self.lost += 1
                    raise WorkerLost(str(error)) from None
                raise

    def start(self) -> None:
        """Starts the process if it is not running, without waiting for its imports: the first call waits."""
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._complaints, self._waiting = tempfile.TemporaryFile(), True
        with theirs:
            self._process = subprocess.Popen(
                self.role.command(self.rung, theirs.fileno()),
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
        with self._complaints as complaints:
            if not select.select([self._control], [], [], _START)[0] or not self._control.recv(1 << 16):
                launcher.kill(self._process)
                self.close()
                complaints.seek(0)
                reason = complaints.read().decode(errors="replace").strip()[-1000:]
                raise SandboxError(f"the worker did not start: {reason or 'no reason given'}")

    def _run(self, files: dict[str, int], task: Task, limits: Limits, budgets: Sequence[Budget]) -> Ended:
        wanted = {"seconds": task.calls * limits.seconds, "memory": limits.memory}
        wanted |= {"shared": task.shared, "addresses": task.addresses, "modules": task.modules}
        with contextlib.ExitStack() as open_ends:
            prints, their_prints = _pipe(open_ends)
            status, their_status = _pipe(open_ends)
            their_go, go = _pipe(open_ends)
            given = [files["job"], files["inputs"], files["outputs"]]
            given += [end.fileno() for end in (their_prints, their_status, their_go)]
            socket.send_fds(self._control, [json.dumps(wanted).encode()], given)
            for end in (their_prints, their_status, their_go):
                end.close()
            message, handles, _, _ = socket.recv_fds(self._control, 1 << 16, 1)
            if not handles:
                raise OSError("no child")
            with Child(handles[0], task, limits, budgets) as child:
                return child.watched(self._control, prints, status, go)


def _pipe(stack: contextlib.ExitStack) -> tuple[io.FileIO, io.FileIO]:
    """(to read from, to write to)."""
    return tuple(stack.enter_context(io.FileIO(end, mode)) for end, mode in zip(os.pipe(), "rw", strict=True))
