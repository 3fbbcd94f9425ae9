"""Compiles kernels in a worker: a compiler executes some of a kernel's Python, so it runs inside the sandbox."""

import atexit
import json
import os
import signal
import tempfile
import threading
import types
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from ..compiler import LIMIT, TARGETS, CannotCompile, KernelLaunch, Target, compile_report, usual
from ..compiler.report import NUMBERS
from . import roles
from .host import Host, WorkerLost
from .probe import SandboxError
from .watch import Budget, Ended, Limits, Task
from .wire import checked
from .wire.checked import clean

# seconds: of one kernel for one GPU. total_seconds: of all that an answer launches. memory: beyond the compiler's own.
LIMITS = Limits(seconds=30.0, total_seconds=120.0, memory=2 << 30)
MOST = 4  # children that compile for one answer at the same time, where somebody waits for it


class Compiler:
    """Compiles the kernels of one answer at a time. Its process starts on first use.

    rung: the level of isolation, by default the best available. limits: for everything compiled for one report. hidden:
    as in `answers.Worker`. children: that compile at the same time; more than one where a core would be idle. spent:
    seconds of processor time of everything that it has compiled.
    """

    def __init__(
        self, rung: str | None = None, limits: Limits = LIMITS, hidden: tuple[str, ...] = (), children: int = 1
    ):
        self.rung, self.limits, self.hidden, self.children = rung, limits, hidden, children
        self.spent = 0.0
        self._worker: Host | None = None
        self._folder: tempfile.TemporaryDirectory | None = None
        self._lock = threading.Lock()  # the folder is emptied when a child has ended

    def __enter__(self) -> "Compiler":
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def close(self) -> None:
        if self._worker:
            self._worker.close()
        if self._folder:
            self._folder.cleanup()
        self._worker = self._folder = None

    def report(self, launches: Iterable[KernelLaunch], targets: Iterable[Target] = TARGETS, limit: int = LIMIT) -> dict:
        """See `compiler.compile_report`."""
        return compile_report(launches, self.run_jobs, targets, limit)

    def run_jobs(
        self,
        modules: list[dict],
        jobs: list[dict],
        budget: Budget | None = None,
        stopped: threading.Event | None = None,
    ) -> list[tuple[int, dict]]:
        """For each job its number and its result (see `compiler.worker`). A job during which the process ended has the
        result ``lost``, which says how. Raises CannotCompile where no process can be started.

        budget: of all kernels of one answer, where they come in several calls. stopped: set when the results are not
        needed any more; then there are none.
        """
        budget = budget or Budget("answer", self.limits.total_seconds)
        with self._lock:
            return self._run_jobs(modules, jobs, budget, stopped or threading.Event())

    def _run_jobs(
        self, modules: list[dict], jobs: list[dict], budget: Budget, stopped: threading.Event
    ) -> list[tuple[int, dict]]:
        worker, before = self._ready(), budget.spent
        forked = worker.spent

        def compiled(part: list[int]) -> dict[int, dict]:
            return _compiled(worker, modules, {i: jobs[i] for i in part}, self.limits, budget, stopped)

        answers: dict[int, dict] = {}
        with ThreadPoolExecutor(self.children, "compiling") as threads:
            try:
                for found in threads.map(compiled, _parts(jobs, self.children)):
                    answers |= found
            except BaseException:  # an interruption: nobody waits for the children
                stopped.set()
                worker.close()
                raise
        self.spent += budget.spent - before + worker.spent - forked
        return [] if stopped.is_set() else list(answers.items())

    def start(self) -> None:
        """Starts its process, without waiting for its imports: the first kernel waits."""
        with self._lock:
            self._started()

    def _started(self) -> Host:
        try:
            if self._worker is None:
                self._folder = tempfile.TemporaryDirectory(prefix="graded-kernels-compiler-")
                self._worker = Host(self.rung, roles.compiling(os.path.realpath(self._folder.name), self.hidden))
            self._worker.start()
            return self._worker
        except SandboxError as error:
            raise CannotCompile(str(error)) from None

    def _ready(self) -> Host:
        worker = self._started()
        try:
            worker.ready()
        except SandboxError as error:
            raise CannotCompile(str(error)) from None
        return worker


_shared: dict[int, Compiler] = {}  # by the number of the process: one that was forked has another


def shared_compiler() -> Compiler:
    """The one of all checks of this process that have none of their own, as in a notebook: its start takes as long as
    compiling a kernel. It starts with the first kernel, and ends with this process.
    """
    process = os.getpid()
    if process not in _shared:
        _shared[process] = Compiler(children=min(os.cpu_count() or 1, MOST))
        atexit.register(_close, process)
    return _shared[process]


def _close(process: int) -> None:
    if process == os.getpid():
        _shared[process].close()


def _parts(jobs: list[dict], count: int) -> list[list[int]]:
    """The numbers of the jobs in ``count`` parts or fewer of about equal size. A kernel for the GPUs of one backend is
    in one of them: a child optimises it once for all of these (`compiler.optimising`).
    """
    kernels: dict[str, list[int]] = {}
    for number, job in enumerate(jobs):
        kernel = {name: value for name, value in job.items() if name not in ("arch", "warp_size")}
        kernels.setdefault(json.dumps(kernel, sort_keys=True), []).append(number)
    parts: list[list[int]] = [[] for _ in range(min(count, len(kernels)))]
    for numbers in sorted(kernels.values(), key=len, reverse=True):
        min(parts, key=len).extend(numbers)
    return [sorted(part) for part in parts]


def _compiled(
    worker: Host, modules: list[dict], jobs: dict[int, dict], limits: Limits, budget: Budget, stopped: threading.Event
) -> dict[int, dict]:
    """The answer to each of the jobs, by number. Where a child ends before its time, another one takes the rest."""
    answers: dict[int, dict] = {}
    while waiting := [i for i in jobs if i not in answers and not stopped.is_set()]:
        request = {"modules": modules, "jobs": [jobs[i] for i in waiting]}
        try:
            ended = _run(worker, request, limits, budget, stopped)
        except WorkerLost:
            return answers | dict.fromkeys(waiting, {"lost": "the compiler's process ended"})
        answers |= {waiting[i]: answer for i, answer in _replies(ended, limits, len(waiting)).items()}
        if budget.broken(limits.wall_factor):
            most = f"all kernels of the answer took the compiler more than {limits.total_seconds:g} s"
            answers |= {i: {"lost": most} for i in waiting if i not in answers}
    return answers


def _run(worker: Host, request: dict, limits: Limits, budget: Budget, stopped: threading.Event) -> Ended:
    """One child: a call for each job, and one more that waits for the disassemblers."""
    with open(os.memfd_create("job", os.MFD_CLOEXEC), "w+b") as job, open(os.devnull, "r+b") as nothing:
        text = json.dumps(request)
        job.write(text.encode())
        job.seek(0)
        files = {"job": job.fileno(), "inputs": nothing.fileno(), "outputs": nothing.fileno()}
        modules = (usual.__name__,) if usual.CALLED.search(text) else ()
        calls = len(request["jobs"]) + 1
        task = Task(0, calls, lambda made, reports: not stopped.is_set(), 0, modules=modules)
        return worker.run(files, task, limits, [budget])


def _replies(ended: Ended, limits: Limits, count: int) -> dict[int, dict]:
    """A child's results for ``count`` jobs, and for the job that it was working on when it ended the reason."""
    answers: dict[int, dict] = {}
    pending = set()
    try:
        for number, line in enumerate(ended.reports):
            reply = checked.loads(line)
            if number == count:
                answers |= {
                    index: _answer(checked.fields(answer))
                    for index, answer in checked.items(reply["disassembled"])
                    if index in pending
                }
            elif "pending" in reply:
                pending.add(number)
            else:
                answers[number] = _answer(reply)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return answers | {number: {"lost": "the compiler wrote something that is not a result"}}
    at = ended.begun - 1
    if len(answers) < count and (ended.killed is None or ended.killed.scope == "call"):
        lost = [at] if at < count else pending - answers.keys()
        answers |= dict.fromkeys(lost, {"lost": _end_of(ended, limits)})
    return answers


def _end_of(ended: Ended, limits: Limits) -> str:
    kind = ended.killed.kind if ended.killed else ""
    if kind == "memory":
        return f"the compiler took more than {limits.memory >> 20:,} MiB of memory for it"
    if kind or ended.status == -signal.SIGXCPU:
        return f"the compiler took more than {limits.seconds:g} s for it"
    status = ended.status or 0
    how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
    return f"the compiler crashed on it ({how})"


_KINDS: dict[str, type | types.UnionType] = {
    "seconds": float | int,
    "message": str,
    "unsuited": str,
    "lost": str,
    "function": str | None,
    "line": int | None,
    "result": dict,
}


def _answer(reply: dict) -> dict:
    """``reply``, which comes from an untrusted process, if it matches the schema. Raises TypeError, KeyError."""
    for name, value in reply.items():
        if not isinstance(value, _KINDS[name]):
            raise TypeError(name)
    for value in reply.get("result", {}).values():
        if not all(isinstance(one, int | None) for one in (value.values() if isinstance(value, dict) else [value])):
            raise TypeError("result")
    if ("result" in reply and reply["result"].keys() != set(NUMBERS)) or not reply.keys() - {"seconds"}:
        raise TypeError("not an answer")
    return {name: clean(value) if isinstance(value, str) else value for name, value in reply.items()}
