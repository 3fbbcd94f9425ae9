"""Compiles kernels in a worker: what a compiler does with a kernel, Python among it, it does behind the wall."""

import json
import os
import signal
import tempfile
from collections.abc import Iterable

from ..compiler import LIMIT, TARGETS, CannotCompile, KernelLaunch, Target, compile_report
from ..compiler.report import NUMBERS
from . import trades
from .host import Host, WorkerLost
from .probe import SandboxError
from .watch import Budget, Ended, Limits, Task
from .wire import checked
from .wire.checked import clean

# seconds: of one kernel for one GPU. total_seconds: of all that an answer launches. memory: beyond the compiler's own.
LIMITS = Limits(seconds=30.0, total_seconds=120.0, memory=2 << 30)


class Compiler:
    """Compiles the kernels of one answer after the other. Its process starts when it is first needed.

    rung: the isolation to use, the best there is by default. limits: of what is compiled for one report. hidden: as
    `answers.Worker` has it.
    """

    def __init__(self, rung: str | None = None, limits: Limits = LIMITS, hidden: tuple[str, ...] = ()):
        self.rung, self.limits, self.hidden = rung, limits, hidden
        self._worker: Host | None = None
        self._folder: tempfile.TemporaryDirectory | None = None

    def __enter__(self) -> "Compiler":
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def close(self) -> None:
        if self._worker:
            self._worker.close()
            self._folder.cleanup()
            self._worker = self._folder = None

    def report(self, launches: Iterable[KernelLaunch], targets: Iterable[Target] = TARGETS, limit: int = LIMIT) -> dict:
        """See `compiler.compile_report`."""
        return compile_report(launches, self.run_jobs, targets, limit)

    def run_jobs(self, modules: list[dict], jobs: list[dict]) -> list[tuple[int, dict]]:
        """For each job its number and the answer (see `compiler.worker`). An answer ``lost`` is added here: how the
        process ended in the middle of a job. Raises CannotCompile where no process can be started.
        """
        worker, answers, budget = self._ready(), {}, Budget("answer", self.limits.total_seconds)
        while waiting := [i for i in range(len(jobs)) if i not in answers]:
            request = {"modules": modules, "jobs": [jobs[i] for i in waiting]}
            try:
                ended = _run(worker, request, self.limits, budget)
            except WorkerLost:
                answers |= dict.fromkeys(waiting, {"lost": "the compiler's process ended"})
                break
            answers |= {waiting[i]: answer for i, answer in _heard(ended, self.limits, len(waiting)).items()}
            if budget.broken(self.limits.wall_factor):
                most = f"all kernels of the answer took the compiler more than {self.limits.total_seconds:g} s"
                answers |= {i: {"lost": most} for i in waiting if i not in answers}
        return list(answers.items())

    def _ready(self) -> Host:
        try:
            if self._worker is None:
                self._folder = tempfile.TemporaryDirectory(prefix="graded-kernels-compiler-")
                self._worker = Host(self.rung, trades.compiling(os.path.realpath(self._folder.name), self.hidden))
            self._worker.ready()
            return self._worker
        except SandboxError as error:
            raise CannotCompile(str(error)) from None


def _run(worker: Host, request: dict, limits: Limits, budget: Budget) -> Ended:
    """One child: a call for each job, and one more for what the disassemblers are still at."""
    with open(os.memfd_create("job", os.MFD_CLOEXEC), "w+b") as job, open(os.devnull, "r+b") as nothing:
        job.write(json.dumps(request).encode())
        job.seek(0)
        files = {"job": job.fileno(), "inputs": nothing.fileno(), "outputs": nothing.fileno()}
        task = Task(0, len(request["jobs"]) + 1, lambda made, said: True, 0)
        return worker.run(files, task, limits, [budget])


def _heard(ended: Ended, limits: Limits, count: int) -> dict[int, dict]:
    """The answers of a child to ``count`` jobs, and why there is none to the one that it was at in the end."""
    answers, pending = {}, set()
    try:
        for number, line in enumerate(ended.reports):
            said = checked.loads(line)
            if number == count:
                answers |= {
                    index: _answer(checked.fields(answer))
                    for index, answer in checked.items(said["disassembled"])
                    if index in pending
                }
            elif "pending" in said:
                pending.add(number)
            else:
                answers[number] = _answer(said)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return answers | {number: {"lost": "the compiler wrote something that is no answer"}}
    at = ended.begun - 1
    if len(answers) < count and (ended.killed is None or ended.killed.scope == "call"):
        lost = [at] if at < count else pending - answers.keys()
        answers |= dict.fromkeys(lost, {"lost": _end_of(ended, limits)})
    return answers


def _end_of(ended: Ended, limits: Limits) -> str:
    kind = ended.killed.kind if ended.killed else ""
    if kind == "memory":
        return f"the compiler took more than {limits.memory >> 20:,} MiB of memory for it"
    if kind in ("processor", "clock") or ended.status == -signal.SIGXCPU:
        return f"the compiler took more than {limits.seconds:g} s for it"
    if kind:
        return "the compiler printed more than can be kept"
    how = signal.Signals(-ended.status).name if ended.status < 0 else f"exit status {ended.status}"
    return f"the compiler died of it ({how})"


_KINDS = {"seconds": float | int, "message": str, "unsuited": str, "lost": str, "function": str | None}
_KINDS |= {"line": int | None, "result": dict}


def _answer(said: dict) -> dict:
    """``said``, which comes from an untrusted process, if it has the form of an answer. Raises TypeError, KeyError."""
    for name, value in said.items():
        if not isinstance(value, _KINDS[name]):
            raise TypeError(name)
    for value in said.get("result", {}).values():
        if not all(isinstance(one, int | None) for one in (value.values() if isinstance(value, dict) else [value])):
            raise TypeError("result")
    if ("result" in said and said["result"].keys() != set(NUMBERS)) or not said.keys() - {"seconds"}:
        raise TypeError("not an answer")
    return {name: clean(value) if isinstance(value, str) else value for name, value in said.items()}
