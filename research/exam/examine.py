"""Puts a row to a checker in a process of its own, which has PyTorch and Triton by being forked, and has limits."""

import faulthandler
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import graded_kernels.autograder  # noqa: F401  before triton
import torch  # noqa: F401  what every child needs
import triton  # noqa: F401

from .row import HERE, Row
from .said import Said
from .subject import Cannot

SECONDS, GIGABYTES = 60, 12
CHECKERS = tuple(sorted(file.stem for file in (HERE / "checkers").glob("[a-z]*.py")))
ENDED = {-signal.SIGKILL: "it took too much time", -signal.SIGXCPU: "it took too much time"}


def examined(checker: str, row: Row, seconds: int = SECONDS, gigabytes: int = GIGABYTES) -> Said:
    """What a checker says of a row, however its process ends; one that it refuses by its way gets none."""
    if why := _refused(checker, row):
        return Said(row.name, cannot=why)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer")
        child = os.fork()
        if child == 0:
            _child(checker, row, answer, Path(folder), seconds, gigabytes)
        code = _ended(child, begun + 3 * seconds)
        took = round(time.monotonic() - begun, 2)
        if answer.is_file():
            told = json.loads(answer.read_text())
            return Said(row.name, **told | {"seconds": told.get("seconds") or took})
        printed = Path(folder, "printed").read_text(errors="replace").strip().splitlines()
    crashed = code < 0 and code not in ENDED
    if crashed and getattr(_adapter(checker), "CRASH_IS_FOUND", False):
        return Said(row.name, True, says=f"the process dies with {signal.Signals(-code).name}", seconds=took)
    why = ENDED.get(code) or (f"its process died with {signal.Signals(-code).name}" if crashed else "its process ended")
    return Said(row.name, cannot=f"{why}: {printed[-1][:200]}" if printed else why, seconds=took)


def _ended(child: int, until: float) -> int:
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _child(checker: str, row: Row, answer: Path, folder: Path, seconds: int, gigabytes: int) -> None:
    """Never returns."""
    try:
        faulthandler.disable()  # the parent's, which writes to the parent's terminal
        with open(folder / "printed", "w") as printed:
            os.dup2(printed.fileno(), 1)
            os.dup2(printed.fileno(), 2)
        sys.stdin = open(os.devnull)
        os.setpgrp()
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        more = max(gigabytes, getattr(_adapter(checker), "GIGABYTES", 0)) << 30
        most = _addresses() + more
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        told = json.dumps(_said(checker, row))
        part = folder / "part"
        part.write_text(told)
        part.rename(answer)
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(0)


def _addresses() -> int:
    """Bytes of addresses that this process has, as its parent had them."""
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 0
    return pages * resource.getpagesize()


def _adapter(checker: str) -> ModuleType:
    return importlib.import_module(f".checkers.{checker}", __package__)


def _refused(checker: str, row: Row) -> str:
    """Why the adapter has nothing to say of a row, as it knows without loading the program; "" where it may have."""
    try:
        return getattr(_adapter(checker), "refuses", lambda row: "")(row)
    except Exception as error:
        return _raises(error)


def _raises(error: Exception) -> str:
    return f"the adapter raises {type(error).__name__}: {' '.join(str(error).split())[:200]}"


def _said(checker: str, row: Row) -> dict:
    """The fields of `Said` that the adapter decides."""
    try:
        said = asdict(_adapter(checker).check(row))
    except Cannot as error:
        return {"cannot": str(error)}
    except Exception as error:
        return {"cannot": _raises(error)}
    return {name: value for name, value in said.items() if name != "row"}
