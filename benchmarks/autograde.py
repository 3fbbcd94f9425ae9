"""What grading a chapter's notebook costs, as ratios to nbgrader's own autograde of the same notebook, in one run.

    python benchmarks/autograde.py [chapter ...] [--rounds N]     all chapters by default

Both grade the same submissions, every answer of them right, with the command ``nbgrader autograde``: once with the
course's settings, where answers are checked in the sandbox; once with nbgrader's own exporter and preprocessors, which
run the notebook with its check cells. They take turns, so that a busy machine slows both alike. No two notebooks hold
the same text: names of kernels differ by student and round, so no verdict and no compiled kernel is there already.

Seconds are of processor, of the command and of every process that it starts, where this process may make a control
group (Linux, cpuacct, as root); else they are of the clock.

- "alone" is a command that grades one notebook, with its start: nbgrader's imports, and the worker's or the kernel's.
- "each of a class" is what every further notebook of the same command adds: the mean of three, with its end.

nbgrader grades the same notebooks once more with empty check cells. What it saves is our own check, as the notebook
calls it; its share of nbgrader's time is the ratio there would be if that check were all that grading costs.
"""

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "material"))

import classroom
import grade_demo
from graded_kernels.autograder.runner.sandbox import probe
from stopwatch import Stopwatch

OURS, STOCK, UNCHECKED = "graded-kernels", "nbgrader", "nbgrader-without-checks"
CLASS = ("ada", "emmy", "grace", "sofia")
# What each prints at a notebook's end, or where it turns to the next one, and which of these lines ends the first.
NEXT = ("Creating/updating student with ID", 1)
ENDS = {OURS: (" points in ", 0), STOCK: NEXT, UNCHECKED: NEXT}
STOCK_CONFIG = """\
import os

c = get_config()
c.CourseDirectory.course_id = "graded-kernels"
c.CourseDirectory.root = os.path.dirname(os.path.abspath(__file__))
c.Execute.timeout = 600
"""


@dataclass(frozen=True)
class Batch:
    """One command: seconds to the end of its first notebook, and for each of the others."""

    alone: float
    following: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapter", nargs="*", help="a chapter's name, such as 01_silu")
    parser.add_argument("--rounds", type=int, default=2, help="commands of each kind")
    options = parser.parse_args()
    print(probe(), flush=True)
    with tempfile.TemporaryDirectory(prefix="graded-kernels-") as folder:
        ours = Path(folder) / OURS
        grade_demo.make_course(ours)
        chapters = sorted(path.name for path in (ours / "source").iterdir() if path.is_dir())
        unknown = set(options.chapter) - set(chapters)
        if unknown:
            parser.error(f"no chapter {', '.join(sorted(unknown))}; there are {', '.join(chapters)}")
        chapters = options.chapter or chapters
        stock, unchecked = (Path(shutil.copytree(ours, Path(folder) / name)) for name in (STOCK, UNCHECKED))
        for course in (stock, unchecked):
            (course / "nbgrader_config.py").write_text(STOCK_CONFIG)
        courses = {OURS: ours, STOCK: stock, UNCHECKED: unchecked}
        for chapter in chapters:
            empty_check_cells(unchecked / "source" / chapter / f"{chapter}.ipynb")
            for course in courses.values():
                classroom.assert_success(classroom.api(course).generate_assignment(chapter))
            compare(chapter, courses, options.rounds)


def empty_check_cells(notebook: Path) -> None:
    content = json.loads(notebook.read_text())
    for cell in content["cells"]:
        marks = cell["metadata"].get("nbgrader", {})
        if cell["cell_type"] == "code" and marks.get("grade") and not marks.get("solution"):
            cell["source"] = "pass"
    notebook.write_text(json.dumps(content))


def compare(chapter: str, courses: dict[str, Path], rounds: int) -> None:
    """Prints one chapter's table."""
    batches, fresh = {name: [] for name in courses}, []
    for number in range(rounds):
        hand_in(chapter, courses.values(), number)
        fresh.append(seconds_of_a_fresh_python())
        for name, course in courses.items():
            batches[name].append(autograde(course, chapter, name))
            assert_full_marks(course, chapter, name)
    python = statistics.median(fresh)
    print(f"\n{chapter}, {rounds} rounds; a fresh Python with PyTorch and Triton is 1 ({python:.1f} s here)")
    print(f"| one notebook | {OURS} | {STOCK} | {OURS} / {STOCK} | in each round |\n|---|---|---|---|---|")
    for words, part in (("alone", "alone"), ("each of a class", "following")):
        ours, theirs = ([getattr(batch, part) for batch in batches[name]] for name in (OURS, STOCK))
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        times = " | ".join(f"{statistics.median(found) / python:.2f}" for found in (ours, theirs))
        each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"| {words} | {times} | {statistics.median(ratios):.2f} | {each} |", flush=True)
    checked, unchecked = (statistics.median(batch.following for batch in batches[name]) for name in (STOCK, UNCHECKED))
    share = 1 - unchecked / checked
    print(f"Of {STOCK}'s time for each of a class {share:.0%} is our own check, as the notebook calls it.", flush=True)


def hand_in(chapter: str, courses: Iterable[Path], number: int) -> None:
    """The right answers, in a text that nobody has handed in before."""
    for student, course in itertools.product(CLASS, courses):
        notebook = classroom.of_its_own(classroom.right_answers(course, chapter), f"{student}_{number}")
        classroom.place(course, student, chapter).write_text(json.dumps(notebook))


def autograde(course: Path, chapter: str, name: str) -> Batch:
    """Grades the class. Raises SystemExit with what nbgrader said where it fails."""
    bin = str(Path(sys.executable).parent)  # nbgrader calls `alembic` by its bare name
    environment = {**os.environ, "PATH": bin + os.pathsep + os.environ["PATH"], "XDG_CACHE_HOME": f"{course}/cache"}
    environment.pop("TRITON_INTERPRET", None)  # this process's own setting
    command = [sys.executable, "-m", "nbgrader", "autograde", chapter, "--force"]
    (words, first), marks, said = ENDS[name], [], []
    watch, pipe = Stopwatch(), {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=course, env=environment, preexec_fn=watch.join, **pipe) as process:
        for line in process.stdout:
            said.append(line)
            if words in line:
                marks.append(watch.read())
    ended = watch.read()
    watch.close()
    if process.returncode or len(marks) != len(CLASS):
        raise SystemExit("".join(said))
    return Batch(marks[first], (ended - marks[first]) / (len(CLASS) - 1))


def assert_full_marks(course: Path, chapter: str, name: str) -> None:
    """A notebook that is not graded right takes any time."""
    for row in grade_demo.rows(course, CLASS[-1], chapter):
        if row.points is not None and row.points != row.most and row.why != "no answer":
            raise SystemExit(f"{name} gave {row.cell} of {chapter} {row.points:g} of {row.most:g} points: {row.why}")


def seconds_of_a_fresh_python() -> float:
    watch = Stopwatch()
    subprocess.run([sys.executable, "-c", "import torch, triton, triton.language"], preexec_fn=watch.join, check=True)
    seconds = watch.read()
    watch.close()
    return seconds


if __name__ == "__main__":
    main()
