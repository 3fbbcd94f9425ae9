"""What people wait for, in two or more checkouts by turns: processor time, as a ratio to the first checkout's.

    python benchmarks/waits.py before=/path/to/a/checkout after=. [--rounds 3] [--of "first check"]

Each checkout has an environment of its own, `.venv`; this one alone where none is named. A wait is a program or a
command with all its processes; the least of all rounds counts, since what else a machine does adds time and takes none
away.

- "import": the door, ``graded_kernels.autograder``, in a process that has imported nothing;
- "first check": `check` of silu_backward in a new process; "later check": one more in the same process;
- "sanitize": the example in examples/scaled;
- "grade": six notebooks of two answers each, nothing known of them before.
"""

import argparse
import contextlib
import os
import resource
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from graded_kernels.autograder.runner.sandbox.worker import linux

ROOT = Path(__file__).resolve().parent.parent
CHECK = """
from graded_kernels.autograder import check
from graded_kernels.solutions.silu import silu_backward
assert check("silu_backward", silu_backward)
"""
LATER = f"""{CHECK}
import time
before = time.process_time()
for _ in range(20):
    check("silu_backward", silu_backward)
print((time.process_time() - before) / 20)
"""
CLASS = """
import json, sys
from pathlib import Path
root, course = sys.argv[1:]
sys.path += [f"{root}/tests", f"{root}/tests/material"]
import classroom
made = classroom.make(Path(course))
for number in range(6):
    notebook = classroom.of_its_own(classroom.right_answers(made), f"of_{number}")
    classroom.place(made, f"learner{number}").write_text(json.dumps(notebook))
"""


def python(*words: str) -> Callable[[Path, Path], float]:
    """A wait: of the checkout's Python with these words, in an empty folder, which may be left with findings (1)."""

    def seconds(checkout: Path, folder: Path) -> float:
        given = [word.format(checkout=checkout) for word in words]
        return processor_time([f"{checkout}/.venv/bin/python", *given], folder)

    return seconds


def later(checkout: Path, folder: Path) -> float:
    """A check after the first one, by the process's own account."""
    command = [f"{checkout}/.venv/bin/python", "-c", LATER]
    return float(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout)


def grade(checkout: Path, folder: Path) -> float:
    """The command alone; the class is made before."""
    python = f"{checkout}/.venv/bin/python"
    subprocess.run([python, "-c", CLASS, checkout, folder / "course"], cwd=folder, capture_output=True, check=True)
    command = [python, "-m", "graded_kernels.autograder", "grade", "tiny", "--workers", "1"]
    return processor_time(command, folder / "course")


def processor_time(command: list[str], folder: Path) -> float:
    """User and system time of a command and of all that it starts, which find nothing that was compiled before."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    with contextlib.suppress(ChildProcessError):  # what a process that was killed left is a child of this one
        while os.wait():
            pass
    if ended.returncode not in (0, 1):
        raise SystemExit(ended.stdout + ended.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


WAITS: dict[str, Callable[[Path, Path], float]] = {
    "import": python("-c", "from graded_kernels.autograder import check"),
    "first check": python("-c", CHECK),
    "later check": later,
    "sanitize": python("-m", "graded_kernels.autograder", "sanitize", "{checkout}/examples/scaled/demo.py"),
    "grade": grade,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", nargs="*", metavar="NAME=PATH", default=[f"now={ROOT}"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--of", nargs="+", choices=WAITS, default=[*WAITS], help="these waits alone")
    options = parser.parse_args()
    checkouts = {name: Path(path).resolve() for name, path in (one.split("=") for one in options.checkout)}
    linux.prctl(linux.SET_CHILD_SUBREAPER, 1)
    for wait in options.of:
        took: dict[str, list[float]] = {name: [] for name in checkouts}
        for _ in range(options.rounds):
            for name, checkout in checkouts.items():
                with tempfile.TemporaryDirectory(prefix="waits-") as folder:
                    took[name].append(WAITS[wait](checkout, Path(folder)))
        first = min(next(iter(took.values())))
        told = [f"{name} {min(seconds):.3f} s ({min(seconds) / first:.2f})" for name, seconds in took.items()]
        print(f"{wait:12} {', '.join(told)}", flush=True)


if __name__ == "__main__":
    main()
