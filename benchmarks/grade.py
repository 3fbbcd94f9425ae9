"""What `graded-kernels grade` costs, as ratios in one run.

    python benchmarks/grade.py [--learners 30] [--chapter 01_silu]

A class whose notebooks all differ, down to the names of their kernels, is graded from an empty store, each time in a
fresh copy of its course with nothing compiled before:

- "2 workers": the time by the clock with one worker, over that with two (the start of Dask, of the workers and of
  nbgrader is in both); once where the one worker may use all cores, on which its compiler and the client run beside
  it, and once where the whole command is kept to one core: what a second core and a second worker give (2 is ideal);
- "overhead": processor time of the whole command, over that of the checks in it, by the verdicts' own account;
- "half unchanged": after half of the learners handed in something else, the time by the clock over the full run's.

Of each run its seconds by the clock and of processor time, and what it left unused of as many cores as it has workers:
on a quiet machine these are idle, on a busy one others had them. Less than 0 where one worker's client or compiler took
another core.

What a run takes before its first check and after its last (imports, Dask, the sandbox's processes, nbgrader) does not
grow with the class: of a few small notebooks it is most of the time, so the default is a small class in a chapter.

Clocks of a machine that is busy with something else say little; run it on a quiet one.
"""

import argparse
import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "material"))

import classroom
from graded_kernels.autograder.judge import Store, Verdict
from graded_kernels.autograder.runner.sandbox.worker import linux


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learners", type=int, default=30)
    parser.add_argument("--chapter", default="01_silu", help="01_silu, or tiny (2 answers) or memory (4)")
    options = parser.parse_args()
    linux.prctl(linux.SET_CHILD_SUBREAPER, 1)  # the time of a process whose parent was killed is counted, too
    with tempfile.TemporaryDirectory(prefix="grade-") as folder:
        made = classroom.make(Path(folder) / "course")
        for number in range(options.learners):
            hand_in(made, options.chapter, number, "first")
        seconds, busy = {}, {}
        for run, workers, cores in (("1 on 1 core", 1, 1), ("1 worker", 1, None), ("2 workers", 2, None)):
            course = Path(shutil.copytree(made, Path(folder) / run, symlinks=True))
            seconds[run], busy[run] = graded(course, options.chapter, workers, cores)
            show(run, seconds[run], busy[run], workers)
        checks = sum(verdict.seconds + verdict.grader_seconds for verdict in verdicts(course))
        for number in range(options.learners // 2):
            hand_in(course, options.chapter, number, "second")
        again, used = graded(course, options.chapter, 2)
        show("half unchanged", again, used, 2)
    load = os.getloadavg()[0]
    print(f"{options.learners} notebooks of {options.chapter}, {os.cpu_count()} cores, load {load:.1f} at the end")
    two, busy_of_two = seconds["2 workers"], busy["2 workers"]
    print(f"2 workers       {seconds['1 worker'] / two:.2f} times as fast as 1")
    print(f"                {seconds['1 on 1 core'] / two:.2f} times as fast as 1 on 1 core")
    print(f"overhead        {busy_of_two / checks:.2f} of the processor time of the checks")
    print(f"half unchanged  {again / two:.2f} of the full run")


def hand_in(course: Path, chapter: str, number: int, version: str) -> None:
    """Right answers that no other learner has."""
    notebook = classroom.of_its_own(classroom.right_answers(course, chapter), f"{version}_{number}")
    classroom.place(course, f"learner{number:03}", chapter).write_text(json.dumps(notebook))


def graded(course: Path, chapter: str, workers: int, cores: int | None = None) -> tuple[float, float]:
    """(seconds by the clock, seconds of processor time) of one command with all its processes. What the compiler keeps
    it keeps in the course: no kernel was compiled by another run. cores: as many as it may use, all by default.
    """
    few = partial(os.sched_setaffinity, 0, sorted(os.sched_getaffinity(0))[:cores])
    environment = {**os.environ, "XDG_CACHE_HOME": f"{course}/cache"}
    command = [sys.executable, "-m", "graded_kernels.autograder", "grade", chapter, "--workers", str(workers)]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ran = subprocess.run(command, cwd=course, env=environment, preexec_fn=few, capture_output=True, text=True)
    took = time.perf_counter() - began
    with contextlib.suppress(ChildProcessError):  # what a killed worker left is a child of this process
        while os.wait():
            pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode:
        raise SystemExit(ran.stdout + ran.stderr)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show(what: str, seconds: float, busy: float, workers: int) -> None:
    idle = min(workers, os.cpu_count() or 1) * seconds - busy
    print(
        f"{what:15} {seconds:.1f} s by the clock, {busy:.1f} s of processor time, {idle:.1f} core-seconds unused",
        flush=True,
    )


def verdicts(course: Path) -> list[Verdict]:
    return [Verdict.from_json(path.read_bytes().partition(b"\n")[2]) for path in Store(course)]


if __name__ == "__main__":
    main()
