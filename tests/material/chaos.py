"""A class graded under every disturbance, against the same class graded in peace: `make chaos`.

    python tests/material/chaos.py [--learners 200] [--works 40] [--kills 12] [--postgres]

Both courses are copies of one, with the secret of its class. In one, `nbgrader autograde` grades serially, undisturbed.
In the other, `graded-kernels grade` is started again and again: its disk is full once, its workers are killed, it is
killed itself twice, and two of it run at once and lose a worker after every second verdict. Root mounts a disk that is
filled to the last byte; without root the store's writes fail with ENOSPC, patched into that one run. At the end both
must have the same grades.csv, byte for byte, and no verdict may have been made twice, by the store's log. With
--postgres the disturbed course has its gradebook in PostgreSQL, and the other one in SQLite.
"""

import argparse
import contextlib
import difflib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import classroom
import full_disk
import grade_demo
import tampered
from attack_notebooks import on_the_judgement
from graded_kernels.autograder.judge import Store
from mutants.silu import MUTANTS
from unreadable import NO_NOTEBOOKS

KILLS = 2  # of workers of two runs at once, by default: a check that meets three is left to a person, as it should be
BETWEEN = 2  # verdicts, not seconds: on a busy machine a worker starts more slowly than a clock would kill it
DISK = 512  # MB, of which most is never written
FULL_DISK = """
import os, sys
from graded_kernels.autograder.judge.verdicts import store
put, made = store.Store.put, []
def full(self, verdict):
    made.append(verdict)
    if len(made) > 1:
        raise OSError(28, "No space left on device")
    put(self, verdict)
store.Store.put = full
from graded_kernels.autograder.cli import main
if __name__ == "__main__":
    sys.exit(main())
"""
CHEATS = [one.act for one in on_the_judgement.ATTACKS if not one.other_files]
CHANGES = [*(act for act in tampered.TAMPERED if act not in NO_NOTEBOOKS), *CHEATS]
LINES = ("", "    x = x * 1.0\n", "    x = x + 1\n", "    raise ValueError('mine')\n", "    return x.half()\n")
LINE = "    v = "  # of the answer, before which one of them goes
ANSWERS = [(LINE, line + LINE) for line in LINES] + [(old, new) for _, old, new, _ in MUTANTS["silu_forward", "torch"]]


@dataclass
class Outcome:
    """What became of the disturbed course. twice: verdicts that were made more often than they had to be."""

    same: bool
    verdicts: int
    twice: list[str]
    workers_killed: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    log: str = ""


def make_class(root: Path, learners: int, works: int) -> None:
    """Right, wrong and cheating answers, forged and damaged notebooks. There are so many different works; whoever comes
    after those hands in another's.
    """
    classroom.make(root)
    for number in range(learners):
        work = number % works
        notebook = classroom.right_answers(root)
        cell = tampered.find(notebook, tampered.TORCH)
        cell["source"] = cell["source"].replace(*ANSWERS[work % len(ANSWERS)], 1) + f"\n# {work}"
        CHANGES[work % len(CHANGES)](notebook)
        classroom.place(root, f"learner{number:03}").write_text(json.dumps(notebook))
    for broken in NO_NOTEBOOKS[: 1 + learners // 8]:
        classroom.place(root, broken.__name__).write_bytes(broken(None))
    released = (root / "release" / "tiny" / "tiny.ipynb").read_text()
    for number in range(2):
        classroom.place(root, f"untouched{number}").write_text(released)
    (root / "class_secret").write_text("7" * 64 + "\n")


def start(course: Path, program: str = "") -> subprocess.Popen:
    """``graded-kernels grade``, in a process group of its own."""
    first = ["-c", program] if program else ["-m", "graded_kernels.autograder"]
    command = [sys.executable, *first, "grade", "tiny", "--course", str(course), "--workers", "2"]
    with open(course.parent / "grade.log", "a") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def workers_of(process: subprocess.Popen) -> list[int]:
    """The processes of Dask's workers, which a child of the run has forked."""
    parents, servers = {}, set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields, command = path.read_text().rpartition(") ")[2].split(), (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(fields[1])
        if int(fields[1]) == process.pid and b"forkserver" in command:
            servers.add(int(path.parent.name))
    return [pid for pid, parent in parents.items() if parent in servers]


def wait_for(processes: list[subprocess.Popen], course: Path, more: int) -> None:
    """Until the store has so many more verdicts, or the runs have ended."""
    wanted = len(list(Store(course))) + more
    while any(process.poll() is None for process in processes) and len(list(Store(course))) < wanted:
        time.sleep(0.02)


def disturb(course: Path, kills: int, disk: bool) -> Outcome:
    """disk: the course has one of its own, which can be filled."""
    outcome = Outcome(False, 0, [])
    outcome.statuses["disk full"] = on_a_full_disk(course, disk)  # first: later there may be no verdict left to make
    for _ in range(2):  # killed, with one of its workers killed before
        process = start(course)
        wait_for([process], course, 1)
        outcome.workers_killed += kill_a_worker(process)
        wait_for([process], course, 1)
        process.kill()
        process.wait()
    both = [start(course), start(course)]
    for _ in range(kills):
        wait_for(both, course, BETWEEN)
        outcome.workers_killed += any([kill_a_worker(process) for process in both])
    outcome.statuses |= {f"client {number}": process.wait() for number, process in enumerate(both)}
    made = Counter((entry["key"], entry["checks"]) for entry in Store(course).made())
    outcome.twice = [key for (key, _), count in made.items() if count > 1]
    outcome.verdicts = len(made)
    return outcome


def on_a_full_disk(course: Path, disk: bool) -> int:
    """The exit status of a run whose disk is full after its first verdict."""
    if not disk:
        return start(course, FULL_DISK).wait()
    process = start(course)
    wait_for([process], course, 1)
    with full_disk.filled(course):
        return process.wait()


def kill_a_worker(process: subprocess.Popen) -> bool:
    for pid in workers_of(process)[:1]:
        with contextlib.suppress(ProcessLookupError):  # it ended by itself meanwhile
            os.kill(pid, signal.SIGKILL)
            return True
    return False


def export(course: Path) -> bytes:
    grade_demo.nbgrader(course, "export", "--to=grades.csv")
    return (course / "grades.csv").read_bytes()


def run(
    folder: Path,
    learners: int,
    works: int = 0,
    kills: int = KILLS,
    prepare: Callable[[Path], object] = lambda course: None,
) -> Outcome:
    """Both courses, in ``folder``. works: of which there are as many as learners by default. prepare: is given the
    course that will be disturbed.
    """
    calm, storm = folder / "calm", folder / "storm"
    make_class(calm, learners, works or learners)
    with contextlib.ExitStack() as stack:
        left = tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True)  # behind by what is killed
        stack.enter_context(patch.dict(os.environ, TMPDIR=stack.enter_context(left)))
        if disk := full_disk.can_mount(folder):
            stack.enter_context(full_disk.mounted(storm, DISK))
        shutil.copytree(calm, storm, symlinks=True, dirs_exist_ok=True)
        prepare(storm)
        peace = stack.enter_context(ThreadPoolExecutor()).submit(grade_demo.nbgrader, calm, "autograde", "tiny")
        outcome = disturb(storm, kills, disk)
        peace.result()
        tables = export(calm), export(storm)
        outcome.same = tables[0] == tables[1]
        lines = [table.decode().splitlines() for table in tables]
        changes = difflib.unified_diff(*lines, "undisturbed", "disturbed", lineterm="", n=0)
        outcome.log = "\n".join([(folder / "grade.log").read_text(), *changes])
        return outcome


def postgres(stack: contextlib.ExitStack) -> Callable[[Path], object]:
    """Moves a course's gradebook to a server that ends with the ``stack``."""
    import test_postgres  # and psycopg with it

    server = stack.enter_context(test_postgres.running())

    def move(course: Path) -> None:
        test_postgres.in_database(course, test_postgres.database(server, "chaos"))
        for release in sorted((course / "release").iterdir()):  # a table of grades has a row for each that there is
            grade_demo.nbgrader(course, "generate_assignment", release.name, "--force")

    return move


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learners", type=int, default=40)
    parser.add_argument("--works", type=int, default=0, help="how many of them differ (all)")
    parser.add_argument("--kills", type=int, default=KILLS, help="of workers, while two runs are at work")
    parser.add_argument("--postgres", action="store_true", help="the disturbed course's gradebook is in PostgreSQL")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="chaos-"))
        prepare = postgres(stack) if options.postgres else lambda course: None
        outcome = run(Path(folder), options.learners, options.works, options.kills, prepare)
    print(outcome.log)
    print(f"grades.csv is the same: {outcome.same}; verdicts made: {outcome.verdicts}; twice: {len(outcome.twice)}")
    print(f"workers killed: {outcome.workers_killed}; exit statuses: {outcome.statuses}")
    return 0 if outcome.same and not outcome.twice else 1


if __name__ == "__main__":
    sys.exit(main())
