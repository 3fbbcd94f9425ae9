"""The worker's main loop: waits for requests, forks a child for each, and reports how the child ended."""

import contextlib
import faulthandler
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import time
import traceback
import types
from dataclasses import dataclass
from typing import Any

from ....words import no_garbage
from . import confine, landlock, linux

FILES = ("job", "inputs", "outputs", "prints", "status", "go")
_END = 1  # one more, which the child does not get: where its end is reported
_FIRST = 3  # a child's descriptors, in the order of FILES
_FAR = 100  # above any that the worker has open


def serve(settings: dict[str, Any], role: types.ModuleType) -> None:
    """role: the module with ``prepare()``, which is called before any child is forked, and ``run(job, inputs, outputs,
    status, go)``, which is called in a child (see `child.run`); if requests name modules, also
    ``importing()`` and ``imported()``, which are called before and after their import; and ``forking(basic)``, which
    is called before each child.
    """
    control = socket.socket(fileno=settings["socket"])
    linux.prctl(linux.SET_CHILD_SUBREAPER, 1)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # where memory runs out, this process and its children are killed first
    linux.prctl(linux.SET_DUMPABLE, 0)
    every, basic = (landlock.rules(*rules) if rules else None for rules in (settings["rules"], settings["basic"]))
    programs = bool(settings["folder"])
    layers = confine.Layers(every, settings["seccomp"], programs, basic)
    linux.give_freed_memory_back()
    with no_garbage():  # a child's collector touches none of these pages, so they are not copied
        role.prepare()
    control.send(json.dumps({"ready": os.getpid()}).encode())
    linux.use_huge_pages()
    running: dict[int, _Running] = {}  # by pidfd
    counted = time.process_time()  # what this process has told of its own time, and its start
    while True:
        waited: list[socket.socket | int] = [control, *running]
        ready, _, _ = select.select(waited, [], [])
        for handle in running.keys() & ready:
            _report(handle, running, settings["folder"])
        if control in ready:
            message, files, _, _ = socket.recv_fds(control, 1 << 16, len(FILES) + _END)
            if not message:  # the parent has ended: the results are not needed
                _kill(running)
                _empty(settings["folder"])
                os._exit(0)
            wanted = json.loads(message)
            _import(wanted["modules"], role)
            role.forking(wanted["basic"])
            counted = _begin(control, wanted, files, layers, role, running, counted)


def _import(modules: list[str], role: types.ModuleType) -> None:
    """Imports what later children will use."""
    missing = [name for name in modules if name not in sys.modules]
    if missing:
        role.importing()
        for name in missing:
            with contextlib.suppress(ImportError):  # an answer that uses it gets the error
                importlib.import_module(name)
        role.imported()
        gc.collect()
        gc.freeze()


def _empty(folder: str) -> None:
    """Removes what children wrote, so that no later one can read it. Those that run at one time are of one answer."""
    for entry in os.scandir(folder) if folder else ():
        shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)


@dataclass(frozen=True)
class _Running:
    """A child. end: where its end is reported."""

    pid: int
    end: int


def _begin(
    control: socket.socket,
    limits: dict[str, Any],
    files: list[int],
    layers: confine.Layers,
    role: types.ModuleType,
    running: dict[int, _Running],
    counted: float,
) -> float:
    """Forks a child, and tells the parent; also what this process took since ``counted``, for this child and for the
    end of others. Returns the time up to which that is counted.
    """
    *files, end = files
    pid = os.fork()
    if pid == 0:
        control.close()
        os.close(end)
        _become(limits, files, layers, role)
    for file in files:
        os.close(file)
    handle = os.pidfd_open(pid)
    running[handle] = _Running(pid, end)
    now = time.process_time()
    socket.send_fds(control, [json.dumps({"started": pid, "seconds": now - counted}).encode()], [handle])
    return now


def _report(handle: int, running: dict[int, _Running], folder: str) -> None:
    """Tells how a child ended (see `main`), when nothing is left of it."""
    child = running.pop(handle)
    _, status, used = os.wait4(child.pid, 0)
    os.close(handle)
    _sweep({process.pid for process in running.values()})
    if not running:
        _empty(folder)
    with contextlib.suppress(BrokenPipeError):  # the parent no longer waits for it
        how = {"ended": os.waitstatus_to_exitcode(status), "seconds": used.ru_utime + used.ru_stime}
        os.write(child.end, json.dumps(how).encode())
    os.close(child.end)


def _kill(running: dict[int, _Running]) -> None:
    for handle, child in running.items():
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.waitpid(child.pid, 0)
    _sweep(set())


def _sweep(running: set[int]) -> None:
    """Kills what children left behind, except those that are ``running``: orphans become this process's children. With
    `seccomp` there are none.
    """
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        left = _children() - running
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _children() -> set[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return {int(word) for word in file.read().split()}
    except OSError:
        return set()


def _become(limits: dict[str, Any], files: list[int], layers: confine.Layers, role: types.ModuleType) -> None:
    """Turns this process into a child: keeps its own descriptors, sets its limits, then runs its job. Never returns."""
    code = 1
    try:
        view = layers.basic if limits["basic"] and layers.basic is not None else layers.rules
        wanted = [*files, *([] if view is None else [view])]
        for number, file in enumerate(wanted):  # first to numbers that none of them ends up with
            os.dup2(file, _FAR + number)
        for number in range(len(wanted)):
            os.dup2(_FAR + number, _FIRST + number, inheritable=False)
        os.closerange(_FIRST + len(wanted), _FAR + len(wanted))
        job, inputs, outputs, prints, status, go = range(_FIRST, _FIRST + len(FILES))
        rules = None if view is None else _FIRST + len(FILES)
        os.dup2(prints, 1)
        os.dup2(prints, 2)
        os.close(prints)
        faulthandler.enable(2)  # a crash in native code says at which line of the answer
        more = limits["addresses"]
        confine.limit(limits["seconds"], limits["memory"], limits["shared"], more, layers.programs)
        confine.give_up_rights(confine.Layers(rules, layers.seccomp, layers.programs))
        with open(job, "rb") as task:
            request = json.load(task)
        role.run(request, inputs, outputs, status, go)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(code)
