"""The parent's end of a worker: starts it, hands it what children are to do, and ends it."""

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
from .trades import Trade
from .watch import Budget, Child, Ended, Limits, Task

_START = 600.0  # seconds for the worker's imports, on a slow disk or a busy machine
_GRACE = 2.0  # seconds for a worker to end by itself when its socket is closed


class WorkerLost(Exception):
    """The worker ended during a call. The next call starts another."""


class Host:
    """A process that forks a child for every call. One call at a time; serves any number of answers, of which it keeps
    nothing.

    rung: the isolation to use, the best there is by default. trade: what it is for. Raises SandboxError where the rung
    cannot be reached.
    """

    def __init__(self, rung: str | None, trade: Trade):
        self.rung, self.trade = rung or probe().rung, trade
        if self.rung is None:
            raise SandboxError(f"{probe()}. Check without isolation instead.")
        require(self.rung)
        self._lock = threading.RLock()
        self._process: subprocess.Popen | None = None
        self._control: socket.socket | None = None
        self._waiting = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process, and with it a child that is running."""
        if self._process is None:
            return
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        launcher.kill(self._process)
        self._process = self._control = None

    def run(self, files: dict[str, int], task: Task, limits: Limits, budgets: Sequence[Budget]) -> Ended:
        """One child, from fork to death. files: descriptors of ``job``, ``inputs``, ``outputs``. budgets: of what it
        takes, which is added to them.
        """
        with self._lock:
            self.ready()
            try:
                return self._run(files, task, limits, budgets)
            except BaseException as error:  # an interruption, too, leaves a call without an answer behind
                self.close()
                if isinstance(error, OSError | ValueError | LookupError | TypeError):
                    raise WorkerLost(str(error)) from None
                raise

    def start(self) -> None:
        """Starts the process, if it does not run, and does not wait for its imports: the first call does."""
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._complaints, self._waiting = tempfile.TemporaryFile(), True
        with theirs:
            self._process = subprocess.Popen(
                self.trade.command(self.rung, theirs.fileno()),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._complaints,
                env=self.trade.environment,
                cwd="/",
                start_new_session=True,
            )

    def ready(self) -> None:
        """Starts the process, if need be, and waits until it takes calls. Raises SandboxError where it does not."""
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
