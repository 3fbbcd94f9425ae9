"""Attempts inside the sandbox what each layer should prevent: a layer that is installed is not always effective.
Prints the results as JSON.
"""

import contextlib
import ctypes
import encodings.idna  # noqa: F401  which `socket` would import, and with it a library
import json
import mmap
import os
import socket
import traceback
from collections.abc import Callable
from typing import Any

from . import confine, landlock, linux, syscalls

_MEMORY = 256 << 20


def run(settings: dict[str, Any]) -> None:
    """settings: ``canary`` (a file outside), ``port`` (a listening one), ``layers`` to try, each in a process of its
    own.
    """
    print(json.dumps({layer: _tried(_LAYERS[layer], settings) for layer in settings["layers"]}))


def _tried(layer: Callable[[dict[str, Any]], str], settings: dict[str, Any]) -> str:
    """Returns what ``layer`` failed to prevent ("" for nothing), or why it cannot be used."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            result = layer(settings)
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        except BaseException:
            result = traceback.format_exc()
        os.write(writer, result.encode()[:1000])
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        result = file.read().decode()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return result if status == 0 else f"{result} (ended with {status})".strip()


def _bubblewrap(settings: dict[str, Any]) -> str:
    return _got_through(read=settings["canary"], connect=settings["port"], signal=settings["pid"])


def _landlock(settings: dict[str, Any]) -> str:
    confine.give_up_rights(confine.Layers(landlock.rules(*settings["rules"]), seccomp=False))
    return _got_through(read=settings["canary"], write=settings["canary"])


def _seccomp(settings: dict[str, Any]) -> str:
    confine.give_up_rights(confine.Layers(None, seccomp=True))
    return _got_through(connect=settings["port"], signal=os.getppid(), fork=True, look=settings["canary"])


def _limits(settings: dict[str, Any]) -> str:
    confine.limit(5, _MEMORY, 0)
    with contextlib.suppress(OSError, MemoryError):
        mmap.mmap(-1, 4 * _MEMORY).close()
        return "more memory than allowed"
    return ""


_LAYERS = {"bubblewrap": _bubblewrap, "landlock": _landlock, "seccomp": _seccomp, "limits": _limits}


def _got_through(
    read: str = "", write: str = "", connect: int = 0, signal: int = 0, fork: bool = False, look: str = ""
) -> str:
    """Returns which of these attempts worked, as a sentence."""
    attempts: dict[str, Any] = {
        "a file outside was read": read and (lambda: open(read).close()),
        "a file outside was written": write and (lambda: open(write, "a").close()),
        "a connection was made": connect and (lambda: socket.create_connection(("127.0.0.1", connect), 1).close()),
        "a process outside was reached": signal and (lambda: os.kill(signal, 0)),
        "a process was started": fork and _fork,
        "a file outside was opened with O_PATH": look and (lambda: os.close(os.open(look, os.O_PATH))),
        "a folder outside was watched": look and (lambda: _watch(os.path.dirname(look))),
    }
    worked = []
    for effect, attempt in attempts.items():
        if attempt:
            with contextlib.suppress(OSError):
                attempt()
                worked.append(effect)
    return "; ".join(worked)


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _watch(folder: str) -> None:
    """Asks for notifications about the files of a folder, which Landlock does not restrict."""
    begin, add = syscalls.of(syscalls.NUMBERS["inotify_init1"]), syscalls.of(syscalls.NUMBERS["inotify_add_watch"])
    assert begin is not None and add is not None  # every architecture has them
    notices = linux.syscall(begin, ctypes.c_int(0))
    linux.syscall(add, ctypes.c_int(notices), os.fsencode(folder), ctypes.c_uint(0xFFF))
    os.close(notices)
