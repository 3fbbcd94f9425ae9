"""Python processes that a program starts: no emulator watches them, and the report says so. A fork stays watched."""

import contextlib
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import util
from typing import Any

_PYTHON = re.compile(r"python[\d.]*|torchrun|accelerate|pytest")
_COMMAND = {"subprocess.Popen": 1, "os.exec": 1, "os.posix_spawn": 1, "os.system": 0}  # its position, by audit event
_LONGEST = 80
_listeners: list[Callable[[str], None]] = []
_hooked: list[Callable[..., None]] = []  # an audit hook stays for the life of the process


@contextlib.contextmanager
def reported(listen: Callable[[str], None]) -> Iterator[None]:
    """Calls ``listen`` with the command line of each Python process that is started in the block."""
    if not _hooked:
        sys.addaudithook(_audit)
        _hooked.append(_audit)
    start = util.spawnv_passfds

    def started(path: bytes, args: Sequence[Any], passfds: Sequence[int]) -> int:  # raises no audit event
        words = [os.fsdecode(word) for word in args]
        if not any("resource_tracker" in word for word in words):
            listen(f"{os.path.basename(words[0])} of multiprocessing")
        return start(path, args, passfds)

    _listeners.append(listen)
    util.spawnv_passfds = started
    try:
        yield
    finally:
        util.spawnv_passfds = start
        _listeners.remove(listen)


@contextlib.contextmanager
def unreported() -> Iterator[None]:
    """Starts processes of this project's own in the block: they are none of the program's."""
    listeners = _listeners[:]
    _listeners.clear()
    try:
        yield
    finally:
        _listeners[:] = listeners


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _listeners and event in _COMMAND:
        command = python_of(arguments[_COMMAND[event]])
        for listen in _listeners if command else ():
            listen(command)


def python_of(command: Any) -> str:
    """The command line from Python's name on, shortened; "" where it does not name Python."""
    single = isinstance(command, str | bytes | os.PathLike)
    words: list[str] = [os.fsdecode(word) for word in ([command] if single else command)]
    if len(words) == 1 or (words[1:2] == ["-c"] and not _is_python(words[0])):  # what a shell is to run
        with contextlib.suppress(ValueError):
            words = shlex.split(words[-1])
    first = next((place for place, word in enumerate(words) if _is_python(word)), None)
    if first is None:
        return ""
    text = shlex.join([os.path.basename(words[first]), *words[first + 1 :]])
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _is_python(word: str) -> bool:
    return _PYTHON.fullmatch(os.path.basename(word)) is not None
