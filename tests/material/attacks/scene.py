"""What an attack could harm, and whether it did: files, a gradebook, listening sockets, a secret in the environment."""

import contextlib
import os
import secrets
import signal
import socket
import tempfile
import time
from pathlib import Path

from graded_kernels.autograder.runner.sandbox.worker import linux

from . import public_results
from .submissions import ROOT

VARIABLE = "GRADED_KERNELS_TEST_SECRET"
_PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/", str(ROOT))


class Scene:
    """A folder with a secret and a gradebook, a TCP, a UDP and an abstract unix socket, all of which should stay as
    they are.
    """

    def __enter__(self) -> "Scene":
        self.token = secrets.token_hex(16)
        self.mark = (
            f"graded_kernels_attack_{secrets.token_hex(8)}"  # the name of what an attack leaves, this scene's own
        )
        os.environ[VARIABLE] = self.token
        self._folder = tempfile.TemporaryDirectory(prefix="scene-")
        self.folder = Path(self._folder.name)
        (self.folder / "secret").write_text(self.token)
        (self.folder / "gradebook.db").write_bytes(b"SQLite format 3\0" + bytes(100))
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self.port = self._tcp.getsockname()[1]
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.port))
        self._unix = socket.socket(socket.AF_UNIX)
        self._unix.bind(f"\0graded-kernels-{self.port}")
        self._unix.listen()
        for one in self._sockets():
            one.setblocking(False)
        with contextlib.suppress(OSError):  # what a worker leaves behind becomes this process's child, and is seen
            linux.prctl(linux.SET_CHILD_SUBREAPER, 1)
        self._before, self._others = self._state(), _children()
        return self

    def __exit__(self, *error) -> None:
        for one in self._sockets():
            one.close()
        self._folder.cleanup()
        os.environ.pop(VARIABLE, None)  # another scene may have been there at the same time

    def fill(self, source: str) -> str:
        """An attack's text with its targets in it."""
        targets = {
            "@SCENE@": str(self.folder),
            "@ROOT@": str(ROOT),
            "@PORT@": str(self.port),
            "@MARK@": self.mark,
        }
        for word, target in targets.items():
            source = source.replace(word, target)
        return source

    def look_up(self, source: str, exercise: str, cases: tuple[str, ...]) -> str:
        """The text with the public results of these cases in it, where it asks for them."""
        for word, results in (('"@RESULTS@"', public_results.table), ('"@ROWS@"', public_results.rows)):
            if word in source:
                source = source.replace(word, results(exercise, cases))
        return source

    def harm(self, printed: str) -> list[str]:
        """What got out, in words; empty where nothing did."""
        found = []
        if self.token in printed:
            found.append("a secret was read")
        if "ESCAPED" in printed:
            found.append("it says: " + printed[printed.index("ESCAPED") :].splitlines()[0][:60])
        if self._state() != self._before:
            found.append("files changed")
        found += [f"{name} was written" for name in self._traces()]
        for one, kind in zip(self._sockets(), ("TCP", "UDP", "a unix socket"), strict=True):
            with contextlib.suppress(BlockingIOError):
                one.recv(1) if one is self._udp else one.accept()
                found.append(f"{kind} was reached")
        return found

    def left_behind(self) -> list[str]:
        """Processes that are still there when the worker is gone. They are ended."""
        until = time.monotonic() + 30  # a machine that is busy takes its time to end one
        while (left := [pid for pid in _children() - self._others if _is_worker(pid)]) and time.monotonic() < until:
            time.sleep(0.05)
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        return [f"process {pid} is left" for pid in left]

    def _sockets(self):
        return self._tcp, self._udp, self._unix

    def _state(self) -> list:
        files = sorted(self.folder.rglob("*"))
        facts = [(os.lstat(f)[:7], os.lstat(f)[8:10]) for f in files]  # not when it was read: this reads it, too
        return [(f.name, *fact, f.read_bytes() if f.is_file() else b"") for f, fact in zip(files, facts, strict=True)]

    def _traces(self) -> list[str]:
        import torch

        library = Path(torch.__file__).parent
        folders = [Path(p) for p in _PLACES] + [library, library.parent]
        found = [
            str(folder / name)
            for folder in folders
            for name in (self.mark, f"{self.mark}.py")
            if os.path.lexists(folder / name)
        ]
        for path in found:
            os.unlink(path)
        return found


def _children() -> set[int]:
    with contextlib.suppress(OSError):
        return {int(p) for p in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}
    return set()


def _is_worker(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"worker/main.py" in Path(f"/proc/{pid}/cmdline").read_bytes()  # empty where it has ended already
    return False
