"""What a class takes: processor hours and memory to grade it, disk to keep it, memory of a hub it works on.

    python benchmarks/sizing.py [--students 120] [chapter ...]     all chapters by default

Measured for each chapter, on notebooks with every answer right that all differ, in an empty course:

- *grading*: seconds of processor time of `graded-kernels grade --workers 1` for each notebook, beyond those of a run
  that finds nothing to grade; and the most memory that the command and all its processes held at once (PSS: a page
  that several share counts once);
- *disk*: what one notebook more adds to the course: handed in, graded, its feedback, its verdicts;
- *working*: the notebook run from its first cell to its last in a kernel, as a learner does in an evening: seconds of
  processor time, and the most memory that the kernel's process held (peak RSS).

And once: the memory of a learner's JupyterLab server without a kernel. The table for the class multiplies these.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grade  # first: it puts the tests' folder on the path
import nbformat
import psutil
from graded_kernels.autograder.runner.sandbox.worker import linux
from nbclient import NotebookClient

import classroom  # isort: skip
import grade_demo  # isort: skip

NOTEBOOKS = 3  # of each chapter
KEPT = ("submitted", "autograded", "feedback", "verdicts", "gradebook.db")
SAMPLE = 0.25  # seconds between two looks at the memory
MINUTE, GIB = 60.0, 2**30


@dataclass(frozen=True)
class Chapter:
    """What one learner's notebook of a chapter takes; seconds of processor time, bytes."""

    name: str
    grading: float
    grading_memory: int
    disk: float
    working: float
    kernel_memory: int

    def row(self) -> str:
        memory = f"{self.grading_memory / GIB:.2f} | {self.disk / 2**20:.2f}"
        return f"| {self.name} | {self.grading:.1f} | {memory} | {self.working:.0f} | {self.kernel_memory / GIB:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapter", nargs="*", help="a chapter's name, such as 01_silu")
    parser.add_argument("--students", type=int, default=120)
    options = parser.parse_args()
    linux.prctl(linux.SET_CHILD_SUBREAPER, 1)  # the time of a process whose parent was killed is counted, too
    with tempfile.TemporaryDirectory(prefix="sizing-") as folder:
        made = Path(folder) / "course"
        grade_demo.make_course(made)
        chapters = options.chapter or sorted(path.name for path in (made / "source").iterdir() if path.is_dir())
        print("| a notebook of | grading, s | grading, GiB | disk, MiB | working, s | kernel, GiB |")
        print("|---|---|---|---|---|---|", flush=True)
        found = []
        for chapter in chapters:
            found.append(measured(made, chapter))
            print(found[-1].row(), flush=True)
        server = server_memory(Path(folder))
    print(f"\nA server without a kernel holds {server / GIB:.2f} GiB (RSS).")
    hours = sum(chapter.grading for chapter in found) * options.students / MINUTE**2
    disk = sum(chapter.disk for chapter in found) * options.students / GIB
    kernel = max(chapter.kernel_memory for chapter in found)
    print(f"{options.students} students, {len(found)} chapters: {hours:.1f} processor hours of grading,")
    print(f"{disk:.2f} GiB of disk, {(server + kernel) * options.students / GIB:.0f} GiB where all work at once.")


def measured(course: Path, chapter: str) -> Chapter:
    classroom.assert_success(classroom.api(course).generate_assignment(chapter))
    for number in range(NOTEBOOKS):
        grade.hand_in(course, chapter, number, "first")
    before = size(course)
    with peak() as memory:
        _, took = grade.graded(course, chapter, 1)
    _, start = grade.graded(course, chapter, 1)  # there is nothing left to grade
    classroom.assert_success(classroom.api(course).generate_feedback(chapter))
    kept = size(course) - before
    seconds, kernel = worked(course, chapter)
    return Chapter(chapter, (took - start) / NOTEBOOKS, memory[0], kept / NOTEBOOKS, seconds, kernel)


def size(course: Path) -> int:
    """Bytes on disk of what a class leaves in its course."""
    files = [file for name in KEPT for file in (course / name, *(course / name).rglob("*"))]
    return sum(file.lstat().st_blocks * 512 for file in files if file.is_file())


@contextlib.contextmanager
def peak() -> Iterator[list[int]]:
    """The most bytes that the processes below this one held together, in the list's one element."""
    most, ended = [0], threading.Event()

    def look() -> None:
        while not ended.wait(SAMPLE):
            most[0] = max(most[0], sum(map(held, psutil.Process().children(recursive=True))))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield most
    finally:
        ended.set()
        thread.join()


def held(process: psutil.Process) -> int:
    with contextlib.suppress(psutil.Error, OSError):
        return process.memory_full_info().pss
    return 0  # it has ended meanwhile


def worked(course: Path, chapter: str) -> tuple[float, int]:
    """(seconds of processor time, peak RSS in bytes) of a kernel that runs the whole notebook with our answers."""
    notebook = nbformat.from_dict(classroom.right_answers(course, chapter))
    client = NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(course)}})
    with client.setup_kernel():
        kernel = client.km.provisioner.process.pid
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
        status = Path(f"/proc/{kernel}/status").read_text()
        times = psutil.Process(kernel).cpu_times()
    peak_kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    return times.user + times.system + times.children_user + times.children_system, peak_kib * 1024


def server_memory(folder: Path) -> int:
    """Bytes of a JupyterLab server that nobody has opened a notebook in."""
    runtime = folder / "runtime"
    flags = ["--no-browser", "--ServerApp.port=0", "--allow-root", f"--ServerApp.root_dir={folder}"]
    environment = {**os.environ, "JUPYTER_RUNTIME_DIR": str(runtime)}
    command = [sys.executable, "-m", "jupyterlab", *flags]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as server:
        while not list(runtime.glob("jpserver-*.json")):
            time.sleep(1)
        time.sleep(5)  # its extensions load
        found = psutil.Process(server.pid).memory_info().rss
        server.terminate()
    return found


if __name__ == "__main__":
    main()
