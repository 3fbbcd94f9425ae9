"""Compiles kernels in a worker: a compiler executes some of a kernel's Python, so it runs inside the sandbox."""

import atexit
import json
import os
import signal
import tempfile
import threading
import types
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ...gpu import CannotCompile, KernelLaunch, Target, compile_report, machine_code_report
from ...gpu import worker as compile_worker
from . import roles
from .host import Host, WorkerLost
from .probe import SandboxError
from .watch import Budget, ChildExit, Limits, Task
from .wire import checked
from .wire.checked import WireJson, clean

MOST = 4  # children that compile for one answer at the same time, where somebody waits for it
# seconds: of one form for one target; ours take up to 4. total_seconds: of all forms of an answer; ours take less than
# 20 for four targets. MOST forms that never end reach the first limit before the second, which decides nothing.
# memory: beyond the compiler's own.
LIMITS = Limits(seconds=12.0, total_seconds=60.0, memory=2 << 30)


class Compiler:
    """Compiles the kernels of one answer at a time. Its process starts on first use.

    level: the level of isolation, by default the best available. limits: for everything compiled for one report; each
    job may take all of it. hidden: as in `answers.Worker`. children: that compile at the same time; more than one where
    a core would be idle. spent: seconds of processor time of everything that it has compiled.
    """

    def __init__(
        self, level: str | None = None, limits: Limits = LIMITS, hidden: tuple[str, ...] = (), children: int = 1
    ):
        self.level, self.limits, self.hidden, self.children = level, limits, hidden, children
        self.spent = 0.0
        self._worker: Host | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()  # the folder is emptied when a child has ended

    def __enter__(self) -> "Compiler":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends its process, and removes the folder."""
        if self._worker:
            self._worker.close()
        if self._folder:
            self._folder.cleanup()
        self._worker = self._folder = None

    def report(
        self,
        launches: Iterable[KernelLaunch],
        targets: Sequence[Target] | None = None,
        whole: bool = True,
        measured: Sequence[KernelLaunch] = (),
    ) -> WireJson:
        """Returns the report of `compiler.compile_report` on these launches."""
        budget = Budget("answer", self.limits.total_seconds)
        return compile_report(launches, partial(self.run_jobs, budget=budget), targets, whole, measured)

    def machine_code(self, launches: Iterable[KernelLaunch]) -> WireJson:
        """The counts of `compiler.machine_code_report` for these launches."""
        return machine_code_report(launches, partial(self.run_jobs, budget=Budget("answer", self.limits.total_seconds)))

    def run_jobs(
        self,
        modules: list[WireJson],
        jobs: list[WireJson],
        *,
        control: bool = False,
        budget: Budget | None = None,
    ) -> list[tuple[int, WireJson]]:
        """Returns for each job its number and its result (see `compiler.worker`). A job during which the process ended
        has the result ``lost``, which says how, and ``slow`` where its own time ended; one for which others left no
        time has ``late``. Raises CannotCompile where no process can be started.

        budget: of all kernels of one answer, of which a ``control`` takes nothing.
        """
        with self._lock:
            fresh = Budget("answer", self.limits.total_seconds)
            return self._run_jobs(modules, jobs, fresh if control or budget is None else budget)

    def _run_jobs(self, modules: list[WireJson], jobs: list[WireJson], budget: Budget) -> list[tuple[int, WireJson]]:
        worker, before = self._ready(), budget.spent
        forked = worker.spent

        def compiled(part: list[int]) -> dict[int, WireJson]:
            return _compiled(worker, modules, {i: jobs[i] for i in part}, self.limits, budget)

        answers: dict[int, WireJson] = {}
        with ThreadPoolExecutor(self.children, "compiling") as threads:
            try:
                parts = [[*range(len(jobs))][first :: self.children] for first in range(min(self.children, len(jobs)))]
                for part_answers in threads.map(compiled, parts):
                    answers |= part_answers
            except BaseException:  # an interruption: nobody waits for the children
                worker.close()
                raise
        self.spent += budget.spent - before + worker.spent - forked
        return list(answers.items())

    def start(self) -> None:
        """Starts its process, without waiting for its imports: the first kernel waits."""
        with self._lock:
            self._started()

    def _started(self) -> Host:
        try:
            if self._worker is None:
                self._folder = tempfile.TemporaryDirectory(prefix="graded-kernels-compiler-")
                self._worker = Host(self.level, roles.compiling(os.path.realpath(self._folder.name), self.hidden))
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
    """Returns the compiler that all checks of this process share, as in a notebook: its start takes as long as
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


def _compiled(
    worker: Host, modules: list[WireJson], jobs: dict[int, WireJson], limits: Limits, budget: Budget
) -> dict[int, WireJson]:
    """The answer to each of the jobs, by number. Where a child ends before its time, another one takes the rest."""
    answers: dict[int, WireJson] = {}
    while waiting := [i for i in jobs if i not in answers]:
        request = {"modules": modules, "jobs": [jobs[i] for i in waiting]}
        try:
            ended = _run(worker, request, limits, budget)
        except WorkerLost:
            return answers | {key: {"lost": "the compiler's process ended"} for key in waiting}
        answers |= {waiting[i]: answer for i, answer in _replies(ended, limits, len(waiting)).items()}
        if budget.broken(limits.wall_factor):
            return answers | {i: {"late": _too_long(limits.total_seconds)} for i in waiting if i not in answers}
    return answers


def _run(worker: Host, request: WireJson, limits: Limits, budget: Budget) -> ChildExit:
    """One child: a call for each job."""
    with open(os.memfd_create("job", os.MFD_CLOEXEC), "w+b") as job, open(os.devnull, "r+b") as nothing:
        text = json.dumps(request)
        job.write(text.encode())
        job.seek(0)
        files = {"job": job.fileno(), "inputs": nothing.fileno(), "outputs": nothing.fileno()}
        modules = compile_worker.libraries(text)
        task = Task(0, len(request["jobs"]), lambda count, reports: True, 0, modules=modules)
        return worker.run(files, task, limits, [budget])


def _replies(ended: ChildExit, limits: Limits, count: int) -> dict[int, WireJson]:
    """A child's results for ``count`` jobs, and for the job that it was working on when it ended the reason."""
    answers: dict[int, WireJson] = {}
    try:
        for number, line in enumerate(ended.reports):
            answers[number] = _answer(checked.loads(line))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return answers | {len(answers): {"lost": "the compiler wrote something that is not a result"}}
    if len(answers) < count:
        answers[ended.begun - 1] = _end_of(ended, limits)
    return answers


def _too_long(seconds: float) -> str:
    return (
        f"compiling what the answer launches took more than {seconds:g} s. Blocks of thousands of elements"
        " and loops that are unrolled take the compiler long: make them smaller, or launch with more warps"
    )


def _end_of(ended: ChildExit, limits: Limits) -> WireJson:
    kind = ended.killed.kind if ended.killed else ""
    if kind == "memory":
        return {"lost": f"the compiler took more than {limits.memory >> 20:,} MiB of memory for it"}
    if kind or ended.status == -signal.SIGXCPU:
        if ended.killed is None or ended.killed.scope == "call":
            return {"lost": _too_long(limits.seconds), "slow": True}
        return {"late": _too_long(limits.total_seconds)}
    status = ended.status or 0
    how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
    return {"lost": f"the compiler crashed on it ({how})"}


_NOTES = 8  # of a thread's count; ours have up to 2
_KINDS: dict[str, type | types.UnionType] = {
    "seconds": float | int,
    "message": str,
    "unsuited": str,
    "lost": str,
    "operations": list,
    "function": str | None,
    "line": int | None,
    "permitted": bool,
    "result": dict,
    "thread": dict,
}


def _answer(reply: WireJson) -> WireJson:
    """``reply``, which comes from an untrusted process, if it matches the schema. Raises TypeError, KeyError."""
    for name, value in reply.items():
        if not isinstance(value, _KINDS[name]):
            raise TypeError(name)
    for value in reply.get("result", {}).values():
        if not all(isinstance(part, int | None) for part in (value.values() if isinstance(value, dict) else [value])):
            raise TypeError("result")
    if "thread" in reply and not _is_thread(reply["thread"]):
        raise TypeError("thread")
    if not all(isinstance(part, str) for part in reply.get("operations", ())):
        raise TypeError("operations")
    if ("result" in reply and reply["result"].keys() != compile_worker.RESULT) or not reply.keys() - {"seconds"}:
        raise TypeError("not an answer")
    return {name: clean(value) if isinstance(value, str) else value for name, value in reply.items()}


def _is_thread(thread: WireJson) -> bool:
    """Returns whether it is what a worker counts for a thread: numbers that can be computed with, and short notes."""
    notes = thread.get("notes")
    if thread.keys() != compile_worker.THREAD or not isinstance(notes, list) or len(notes) > _NOTES:
        return False
    counts = [thread[name] for name in thread.keys() - {"notes", "loads", "stores"}]
    counts += [*checked.fields(thread["loads"]).values(), *checked.fields(thread["stores"]).values()]
    return all(isinstance(note, str) and note == clean(note) for note in notes) and all(
        isinstance(count, int | float) and 0 <= count < 2**62 for count in counts
    )
