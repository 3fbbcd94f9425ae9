"""The parent's end of a worker: starts it, hands it calls, watches each child's time and memory, and ends it."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

from . import bubblewrap, launcher, linux, paths
from .probe import RUNGS, SandboxError, probe, require

_START = 120.0  # seconds for the worker's imports, on a slow disk
_TICK = 0.02
_STATUS = 4 << 20


@dataclass(frozen=True)
class Limits:
    """What one call, and all calls of one answer together, may take.

    seconds: wall clock of one call, loading the answer included. total_seconds: of all calls; later ones are not made.
    memory: bytes an answer may hold beside its inputs and outputs. printed: bytes of its own output that are kept.
    """

    seconds: float = 20.0
    total_seconds: float = 120.0
    memory: int = 2 << 30
    printed: int = 64 << 10


@dataclass(frozen=True)
class Ended:
    """How a child ended. killed: "" or the limit it broke. status: exit status, negative for a signal."""

    status: int
    killed: str
    said: bytes
    printed: str
    seconds: float


class WorkerLost(Exception):
    """The worker ended during a call. The next call starts another."""


class Worker:
    """A process that forks a child for every call. One call at a time; serves any number of answers, of which it keeps
    nothing.

    rung: the isolation to use, the best there is by default. Raises SandboxError where it is not to be had.
    """

    def __init__(self, rung: str | None = None):
        self.rung = rung or probe().rung
        if self.rung is None:
            raise SandboxError(f"{probe()}. Check without isolation instead.")
        require(self.rung)
        self._lock = threading.Lock()
        self._process: subprocess.Popen | None = None
        self._control: socket.socket | None = None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process, and with it a child that is running."""
        if self._process is None:
            return
        self._control.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = self._control = None

    def run(self, files: dict[str, int], limits: Limits, shared: int) -> Ended:
        """One child, from fork to death. files: descriptors of ``job``, ``inputs``, ``outputs``. shared: bytes of the
        latter two.
        """
        with self._lock:
            self._start()
            try:
                return self._run(files, limits, shared)
            except BaseException as error:  # an interruption, too, leaves a call without an answer behind
                self.close()
                if isinstance(error, OSError | ValueError | LookupError | TypeError):
                    raise WorkerLost(str(error)) from None
                raise

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        found, view = probe(), paths.view()
        walled = self.rung == "strong" or (self.rung == "good" and not found.has("landlock"))
        confined = self.rung != RUNGS[0]
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, tempfile.TemporaryFile() as said:
            settings = launcher.locations() | {
                "socket": theirs.fileno(),
                "rules": view.rules() if confined and found.has("landlock") else None,
                "seccomp": confined,
            }
            wall = bubblewrap.command(view, paths.interpreter(), launcher.environment()) if walled else []
            self._process = subprocess.Popen(
                wall + launcher.python(settings),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                env=launcher.environment(),
                cwd="/",
                start_new_session=True,
            )
            self._control = mine
            if not select.select([mine], [], [], _START)[0] or not mine.recv(1 << 16):
                self._process.kill()
                self.close()
                said.seek(0)
                reason = said.read().decode(errors="replace").strip()[-1000:]
                raise SandboxError(f"the worker did not start: {reason or 'no reason given'}")

    def _run(self, files: dict[str, int], limits: Limits, shared: int) -> Ended:
        begin = time.monotonic()
        prints, their_prints = os.pipe()
        status, their_status = os.pipe()
        try:
            try:
                wanted = {"seconds": limits.seconds, "memory": limits.memory, "shared": shared}
                given = [files["job"], files["inputs"], files["outputs"], their_prints, their_status]
                socket.send_fds(self._control, [json.dumps(wanted).encode()], given)
            finally:
                os.close(their_prints)
                os.close(their_status)
            message, handles, _, _ = socket.recv_fds(self._control, 1 << 16, 1)
            if not handles:
                raise OSError("no child")
            with _Child(handles[0], begin, limits, shared) as child:
                child.watch(self._control, {prints: limits.printed, status: _STATUS})
                return child.ended(prints, status)
        finally:
            os.close(prints)
            os.close(status)


class _Child:
    """A running child: its limits, and what it has written so far."""

    def __init__(self, handle: int, begin: float, limits: Limits, shared: int):
        self.handle, self.begin, self.limits = handle, begin, limits
        self.deadline = begin + limits.seconds
        self.pid = linux.pid_of(handle)
        self.most = (linux.resident(self.pid) or 0) + limits.memory + 2 * shared
        self.killed, self.status = "", 0
        self.written: dict[int, bytes] = {}

    def __enter__(self) -> "_Child":
        return self

    def __exit__(self, *error) -> None:
        self._kill("")
        os.close(self.handle)

    def watch(self, control: socket.socket, pipes: dict[int, int]) -> None:
        """Until the worker says that the child has ended. pipes: descriptor -> how many bytes of it to keep."""
        self.written = dict.fromkeys(pipes, b"")
        open_pipes = set(pipes)
        for pipe in pipes:
            os.set_blocking(pipe, False)
        over = False
        while not over or open_pipes:
            if over:  # what was written before the end is still there to read; nobody is left to write more
                ready = list(open_pipes)
            else:
                ready = select.select([control, *open_pipes], [], [], _TICK)[0]
                self._enforce()
            for pipe in open_pipes.intersection(ready):
                if not self._read(pipe, pipes[pipe], to_the_end=over):
                    open_pipes.discard(pipe)
            if control in ready:
                message = control.recv(1 << 16)
                if not message:
                    raise OSError("it ended")
                self.status, over = json.loads(message)["ended"], True

    def _read(self, pipe: int, most: int, to_the_end: bool) -> bool:
        """Reads what is there and keeps the beginning. False at the end."""
        while True:
            try:
                chunk = os.read(pipe, 1 << 16)
            except BlockingIOError:
                return not to_the_end
            if not chunk:
                return False
            self.written[pipe] += chunk[: max(0, most - len(self.written[pipe]))]
            if not to_the_end:
                return True

    def _enforce(self) -> None:
        now = time.monotonic()
        if now > self.deadline:
            self._kill("timeout")
        elif (linux.resident(self.pid) or 0) > self.most:
            self._kill("memory")
        if now > self.deadline + 10:
            raise OSError("a child could not be ended")

    def _kill(self, why: str) -> None:
        self.killed = self.killed or why
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)

    def ended(self, prints: int, status: int) -> Ended:
        seconds = time.monotonic() - self.begin
        printed = self.written[prints].decode(errors="replace")
        return Ended(self.status, self.killed, self.written[status], printed, seconds)
