"""Compiles kernels while an answer is still called on other cases: compiling takes longer than most checks."""

import json
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

from ..compiler import KernelLaunch, compile_report, is_new, uncompiled
from .compiler import Compiler
from .watch import Budget

CASES = 15  # after so many, no later one launched any kernel of ours with better aligned arguments


class Ahead:
    """The compiler's report on one answer. A kernel is compiled with the best aligned arguments of all launches; that
    is begun where these are known, or where `CASES` cases have not shown better ones. What was compiled in vain is not
    reported. Leaving the ``with`` block ends what is still being compiled, without waiting for it.
    """

    def __init__(self, compiler: Compiler):
        self._compiler = compiler
        self._budget: Budget | None = Budget("answer", compiler.limits.total_seconds)
        self._best: dict[tuple[str, str], KernelLaunch] = {}
        self._begun: set[tuple[str, str]] = set()
        self._cases = 0
        self._thread = ThreadPoolExecutor(1, "compiling")
        self._running: list[Future] = []
        self._answers: dict[str, dict] = {}
        self._stopped = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error) -> None:
        self.stop()

    def stop(self) -> None:
        """There will be no report."""
        self._stopped.set()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def see(self, launches: Iterable[KernelLaunch]) -> None:
        """The launches of one more case."""
        if self._stopped.is_set():
            return
        self._cases += 1
        for launch in launches:
            kernel = launch.kernel, launch.source
            if kernel not in self._best and not self._running:
                self._running.append(self._thread.submit(self._start, launch))
            best = self._best.setdefault(kernel, launch)
            if len(launch.unaligned) < len(best.unaligned):
                self._best[kernel] = launch
        chosen = {k: one for k, one in self._best.items() if one.aligned or self._cases >= CASES}
        new = [one for kernel, one in chosen.items() if kernel not in self._begun]
        self._begun |= chosen.keys()
        if new:
            self._running.append(self._thread.submit(self._compile, new))

    def report(self, launches: Iterable[KernelLaunch], limit: int) -> dict:
        """See `compiler.compile_report`."""
        return compile_report(launches, self._run_jobs, limit=limit)

    def _start(self, launch: KernelLaunch) -> None:
        """Starts the compiler's process, which takes as long as compiling a kernel, where it will be needed."""
        if is_new(launch):
            self._compiler.start()

    def _compile(self, launches: list[KernelLaunch]) -> None:
        modules, jobs = uncompiled(launches)
        answers = self._compiler.run_jobs(modules, jobs, self._budget, self._stopped) if jobs else []
        self._answers |= {_content(modules, jobs[number]): answer for number, answer in answers}

    def _run_jobs(self, modules: list[dict], jobs: list[dict]) -> list[tuple[int, dict]]:
        """Of what was compiled ahead the result, and the rest now, all within one budget; what comes after that is no
        kernel of the answer.
        """
        for one in self._running:
            one.result()
        contents = [_content(modules, job) for job in jobs]
        rest = [number for number, content in enumerate(contents) if content not in self._answers]
        budget, self._budget = self._budget, None
        more = self._compiler.run_jobs(modules, [jobs[number] for number in rest], budget) if rest else []
        answers = {number: self._answers[content] for number, content in enumerate(contents) if number not in rest}
        return [*(answers | {rest[number]: answer for number, answer in more}).items()]


def _content(modules: list[dict], job: dict) -> str:
    return json.dumps([modules[job["module"]], {**job, "module": None}], sort_keys=True)
