"""A class graded under every disturbance, against the same class graded in peace: `make chaos`.

    python tests/chaos.py [--learners 40]

Both courses are copies of one, with the secret of its class. In one, `nbgrader autograde` grades serially, undisturbed.
In the other, `graded-kernels grade` is started again and again: its workers are killed, it is killed itself twice, its
disk is full once (writes to the store that fail with ENOSPC, patched into that one run), and two of it run at once. At
the end both must have the same grades.csv, byte for byte, and no verdict may have been made twice, by the store's log.
"""

import argparse
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import classroom
import grade_demo
import tampered
from graded_kernels.autograder.verdicts.store import Store

KILLS = 2  # of workers in one run: a check that meets three is left to a person, as it should be
PAUSE = 8.0  # seconds between two of them
FULL_DISK = """
import os, sys
from graded_kernels.autograder.verdicts import store
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
CHANGES = (
    *(tampered.right, tampered.skip_tags, tampered.edited_check, tampered.forged_output, tampered.deleted_checks),
    *(tampered.deleted_answer, tampered.helper_cells),
)
BROKEN = (b"", b"{", b'{"cells": []}', b"\xff\xfe{", b"[]")
LINES = ("", "    x = x * 1.0\n", "    x = x + 1\n", "    raise ValueError('mine')\n", "    return x.half()\n")


@dataclass
class Outcome:
    """What became of the disturbed course. twice: verdicts that were made more often than they had to be."""

    same: bool
    verdicts: int
    twice: list[str]
    workers_killed: int = 0
    statuses: dict[str, int] = field(default_factory=dict)


def make_class(root: Path, learners: int) -> None:
    """Right and wrong answers, forged and damaged notebooks; no two learners' answers are the same."""
    classroom.make(root)
    kinds = itertools.cycle(itertools.product(LINES, CHANGES))
    for number in range(learners):
        line, change = next(kinds)
        notebook = classroom.right_answers(root)
        cell = tampered.find(notebook, tampered.TORCH)
        cell["source"] = cell["source"].replace("    v = ", f"{line}    v = ", 1) + f"\n# {number}"
        change(notebook)
        classroom.place(root, f"learner{number:03}").write_text(json.dumps(notebook))
    for number, content in enumerate(BROKEN[: 1 + learners // 8]):
        classroom.place(root, f"broken{number}").write_bytes(content)
    released = (root / "release" / "tiny" / "tiny.ipynb").read_text()
    for number in range(2):
        classroom.place(root, f"untouched{number}").write_text(released)
    (root / "class_secret").write_text("7" * 64 + "\n")


def start(course: Path, program: str = "") -> subprocess.Popen:
    """``graded-kernels grade``, in a process group of its own."""
    first = ["-c", program] if program else ["-m", "graded_kernels.autograder"]
    command = [sys.executable, *first, "grade", "tiny", "--course", str(course), "--workers", "2"]
    with open(course / "grade.log", "a") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def workers_of(process: subprocess.Popen) -> list[int]:
    """The processes of Dask's workers, which are children of the run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields, command = path.read_text().rpartition(") ")[2].split(), (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == process.pid and b"spawn_main" in command:
            found.append(int(path.parent.name))
    return found


def wait_for(process: subprocess.Popen, course: Path, more: int) -> None:
    """Until the store has so many more verdicts, or the run ends."""
    wanted = len(list(Store(course))) + more
    while process.poll() is None and len(list(Store(course))) < wanted:
        time.sleep(0.1)


def disturb(course: Path) -> Outcome:
    outcome = Outcome(False, 0, [])
    for _ in range(2):  # killed, with one of its workers killed before
        process = start(course)
        wait_for(process, course, 1)
        outcome.workers_killed += kill_a_worker(process)
        wait_for(process, course, 1)
        process.kill()
        process.wait()
    full = start(course, FULL_DISK)
    outcome.statuses["disk full"] = full.wait()
    both = [start(course), start(course)]
    for _ in range(KILLS):
        time.sleep(PAUSE)
        outcome.workers_killed += any([kill_a_worker(process) for process in both])
    outcome.statuses |= {f"client {number}": process.wait() for number, process in enumerate(both)}
    made = Counter((entry["key"], entry["checks"]) for entry in Store(course).made())
    outcome.twice = [key for (key, _), count in made.items() if count > 1]
    outcome.verdicts = len(made)
    return outcome


def kill_a_worker(process: subprocess.Popen) -> bool:
    for pid in workers_of(process)[:1]:
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def export(course: Path) -> bytes:
    grade_demo.nbgrader(course, "export", "--to=grades.csv")
    return (course / "grades.csv").read_bytes()


def run(folder: Path, learners: int) -> Outcome:
    calm = folder / "calm"
    make_class(calm, learners)
    storm = Path(shutil.copytree(calm, folder / "storm", symlinks=True))
    grade_demo.nbgrader(calm, "autograde", "tiny")
    outcome = disturb(storm)
    outcome.same = export(calm) == export(storm)
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learners", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        outcome = run(Path(folder), options.learners)
        log = (Path(folder) / "storm" / "grade.log").read_text()
    print(log)
    print(f"grades.csv is the same: {outcome.same}; verdicts made: {outcome.verdicts}; twice: {len(outcome.twice)}")
    print(f"workers killed: {outcome.workers_killed}; exit statuses: {outcome.statuses}")
    return 0 if outcome.same and not outcome.twice else 1


if __name__ == "__main__":
    sys.exit(main())
