"""What the worker does after its imports: it waits, forks, and reports how each child ended."""

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

from . import confine, landlock, linux

FILES = ("job", "inputs", "outputs", "prints", "status", "go")
_END = 1  # one more, which the child does not get: where its end is reported
_FIRST = 3  # a child's descriptors, in the order of FILES
_FAR = 100  # above any that the worker has open


def serve(settings: dict, trade: types.ModuleType) -> None:
    """trade: the module that does the work, with ``prepare()``, of which children find the effects, and ``run(job,
    inputs, outputs, status, go)``, which is called in a child (see `child.run`); where calls ask for modules, also
    ``imported()``, called after their import.
    """
    control = socket.socket(fileno=settings["socket"])
    linux.prctl(linux.SET_CHILD_SUBREAPER, 1)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # where memory runs out, this process and its children go first
    linux.prctl(linux.SET_DUMPABLE, 0)
    rules = landlock.rules(*settings["rules"]) if settings["rules"] else None
    layers = confine.Layers(rules, settings["seccomp"], programs=bool(settings["folder"]))
    linux.give_freed_memory_back()
    trade.prepare()
    gc.collect()
    gc.freeze()  # pages of what is here already are not touched, so not copied, in a child
    control.send(json.dumps({"ready": os.getpid()}).encode())
    linux.use_huge_pages()
    running: dict[int, _Running] = {}  # by pidfd
    while True:
        ready, _, _ = select.select([control, *running], [], [])
        for handle in running.keys() & ready:
            _report(handle, running)
            _empty(settings["folder"])
        if control in ready:
            message, files, _, _ = socket.recv_fds(control, 1 << 16, len(FILES) + _END)
            if not message:  # the parent is gone: no result is needed
                _kill(running)
                os._exit(0)
            wanted = json.loads(message)
            _import(wanted["modules"], trade)
            _begin(control, wanted, files, layers, trade, running)


def _import(modules: list[str], trade: types.ModuleType) -> None:
    """Once for all children to come."""
    for name in modules:
        if name not in sys.modules:
            with contextlib.suppress(ImportError):  # an answer that uses it gets the error
                importlib.import_module(name)
            trade.imported()
            gc.collect()
            gc.freeze()


def _empty(folder: str) -> None:
    """Removes what a child wrote, so that the next one does not find it."""
    for entry in os.scandir(folder) if folder else ():
        shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)


@dataclass(frozen=True)
class _Running:
    """A child. end: where its end is reported."""

    pid: int
    end: int


def _begin(
    control: socket.socket,
    limits: dict,
    files: list[int],
    layers: confine.Layers,
    trade: types.ModuleType,
    running: dict[int, _Running],
) -> None:
    """Forks a child, and tells the parent."""
    *files, end = files
    pid = os.fork()
    if pid == 0:
        control.close()
        os.close(end)
        _become(limits, files, layers, trade)
    for file in files:
        os.close(file)
    handle = os.pidfd_open(pid)
    running[handle] = _Running(pid, end)
    socket.send_fds(control, [json.dumps({"started": pid}).encode()], [handle])


def _report(handle: int, running: dict[int, _Running]) -> None:
    """Of a child that has ended, how it did (see `inside`)."""
    child = running.pop(handle)
    _, status, used = os.wait4(child.pid, 0)
    os.close(handle)
    _sweep({one.pid for one in running.values()})
    with contextlib.suppress(BrokenPipeError):  # the parent no longer asks
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
    """Ends what children left behind, not those that are ``running``. Orphans become this process's children; where
    `seccomp` works there are none.
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


def _become(limits: dict, files: list[int], layers: confine.Layers, trade: types.ModuleType) -> None:
    """The child: its descriptors and nothing else, its limits, then its job. Never returns."""
    code = 1
    try:
        wanted = [*files, *([] if layers.rules is None else [layers.rules])]
        for number, file in enumerate(wanted):  # first out of the way of their final numbers
            os.dup2(file, _FAR + number)
        for number in range(len(wanted)):
            os.dup2(_FAR + number, _FIRST + number, inheritable=False)
        os.closerange(_FIRST + len(wanted), _FAR + len(wanted))
        job, inputs, outputs, prints, status, go = range(_FIRST, _FIRST + len(FILES))
        rules = None if layers.rules is None else _FIRST + len(FILES)
        os.dup2(prints, 1)
        os.dup2(prints, 2)
        os.close(prints)
        faulthandler.enable(2)  # a crash in native code says at which line of the answer
        more = limits["addresses"]
        confine.limit(limits["seconds"], limits["memory"], limits["shared"], more, layers.programs)
        confine.give_up_rights(confine.Layers(rules, layers.seccomp, layers.programs))
        with open(job, "rb") as file:
            said = json.loads(file.read())
        trade.run(said, inputs, outputs, status, go)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(code)
