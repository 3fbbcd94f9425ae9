"""Says which isolation mechanisms work on this machine. Each one is tried; those that hold determine the level."""

import contextlib
import functools
import json
import os
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Any

from . import bubblewrap, launcher, paths
from .worker import linux, syscalls

LEVELS = ("weak", "good", "strong")
MEANING = {
    "strong": "bubblewrap, Landlock, seccomp, limits, memory watch, wall clock",
    "good": "Landlock or bubblewrap, seccomp, limits, memory watch, wall clock",
    "weak": "limits and wall clock only: for your own code, not for a class",
}


_PATIENCE = 300  # seconds for an interpreter to start and try a few calls, on a busy machine


class SandboxError(Exception):
    """The requested isolation is not available on this machine, or not for this code. The message says what to do."""


@dataclass(frozen=True)
class Layer:
    """One isolation mechanism: whether it held when it was tried, and if not, the reason."""

    name: str
    works: bool
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {'works' if self.works else f'no ({self.reason})'}"


@dataclass(frozen=True)
class Probe:
    """All layers, and the best level that they give: ``strong``, ``good`` or ``weak``; None if answers cannot be
    isolated at all.
    """

    layers: tuple[Layer, ...]
    level: str | None

    def has(self, name: str) -> bool:
        """Returns whether the layer of this name works."""
        return any(layer.works for layer in self.layers if layer.name == name)

    def __str__(self) -> str:
        means = MEANING[self.level] if self.level else "answers run in this process only"
        return "\n".join([f"isolation: {self.level or 'none'} ({means})", *(f"  {layer}" for layer in self.layers)])


@functools.cache
def probe() -> Probe:
    """Tries every layer, once per process, and returns what holds. It takes 0.25 s; a first check asks three times."""
    if not hasattr(os, "memfd_create") or not hasattr(os, "pidfd_open"):
        return Probe((Layer("Linux", False, "isolation needs Linux 5.3 or later"),), None)
    names = ("bubblewrap", "landlock", "seccomp", "limits")
    with (
        tempfile.TemporaryDirectory(prefix="graded-kernels-") as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        canary = os.path.join(folder, "canary")
        with open(canary, "w") as file:
            file.write("not for you")
        settings = {"canary": canary, "port": server.getsockname()[1], "pid": os.getpid()}
        problems = {**_tried(settings, names[1:], walled=False), **_tried(settings, names[:1], walled=True)}
    if not syscalls.known():
        problems["seccomp"] = "no table of system calls for this processor"
    problems["memory watch"] = _memory_watch()
    layers = tuple(Layer(name, not problems[name], problems[name]) for name in (*names, "memory watch"))
    works = {layer.name for layer in layers if layer.works}
    kept_in = {"seccomp", "limits", "memory watch"} <= works
    if kept_in and {"bubblewrap", "landlock"} <= works:
        level = "strong"
    else:
        level = "good" if kept_in and works & {"bubblewrap", "landlock"} else "weak"
    return Probe(layers, level)


def require(level: str) -> Probe:
    """Returns the probe if it gives at least ``level``. Raises SandboxError, and ValueError for an unknown level."""
    if level not in LEVELS:
        raise ValueError(f"{level!r} is not a level of isolation; there are {', '.join(LEVELS)}")
    reached = probe()
    if reached.level is None or LEVELS.index(reached.level) < LEVELS.index(level):
        missing = "; ".join(str(layer) for layer in reached.layers if not layer.works)
        raise SandboxError(
            f"answers would be isolated as {reached.level or 'nothing'}, and {level} is asked for. {missing}. "
            "Install bubblewrap, use Linux 5.13 or later, or grade in a virtual machine."
        )
    return reached


def _memory_watch() -> str:
    """ "" if a process's memory can be monitored, else the reason. Tried on this process, as it is done on a child."""
    handle = os.pidfd_open(os.getpid())
    try:
        process = linux.ProcessStatus(linux.pid_of(handle))
        with contextlib.closing(process):
            return "" if process.resident() else "no memory is reported"
    except (OSError, StopIteration) as error:
        return str(error)
    finally:
        os.close(handle)


def _tried(settings: dict[str, Any], layers: tuple[str, ...], walled: bool) -> dict[str, str]:
    """For each layer "" if it held, else what went wrong."""
    view = paths.view()
    settings = settings | {"probe": True, "layers": layers, "rules": view.rules(), **launcher.locations()}
    try:
        wall = bubblewrap.command(view, paths.interpreter(), launcher.environment()) if walled else []
        status, printed, errors = _run(wall + launcher.python(settings))
        problems: dict[str, str] = json.loads(printed)
        return problems
    except ValueError:
        reason = (errors.strip().splitlines() or [f"exit status {status}"])[-1]
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = str(error)
    return dict.fromkeys(layers, reason[:300])


def _run(command: list[str]) -> tuple[int, str, str]:
    """(exit status, stdout, stderr). An interruption leaves no process behind."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=launcher.environment(),
        cwd="/",
        start_new_session=True,
    ) as process:
        try:
            printed, errors = process.communicate(timeout=_PATIENCE)
        finally:
            launcher.kill(process)
    return process.returncode, printed, errors
