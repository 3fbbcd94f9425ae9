"""What grading a chapter's notebook costs, as ratios to nbgrader's own autograde of the same notebook, in one run.

    python benchmarks/autograde.py [chapter ...] [--rounds N]     all chapters by default

Both grade the same submissions, every answer of them right, with the command ``nbgrader autograde``: once with the
course's settings, where answers are checked in the sandbox; once with nbgrader's own exporter and preprocessors, which
run the notebook with its check cells. They take turns, so that a busy machine slows both alike, and each has a
compiler cache of its own that starts empty.

- "alone" is a command that grades one notebook, with its start: nbgrader's imports, and the worker's or the kernel's.
- "each of a class" is what every further notebook of the same command adds.
- "nothing cached" is the first command of all, where every kernel is compiled.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import classroom  # noqa: E402
import grade_demo  # noqa: E402
from graded_kernels.autograder.sandbox import probe  # noqa: E402

OURS, STOCK = "graded-kernels", "nbgrader"
CLASS = ("ada", "emmy", "sofia")
BEGINS = "Creating/updating student with ID"  # nbgrader's words where it turns to a submission
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
    parser.add_argument("--rounds", type=int, default=3, help="commands of each kind, after the first one of each")
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
        for chapter in chapters:
            classroom.assert_success(classroom.api(ours).generate_assignment(chapter))
            for student in CLASS:
                text = json.dumps(classroom.right_answers(ours, chapter))
                classroom.place(ours, student, chapter).write_text(text)
        stock = Path(shutil.copytree(ours, Path(folder) / STOCK))
        (stock / "nbgrader_config.py").write_text(STOCK_CONFIG)
        for chapter in chapters:
            compare(chapter, {OURS: ours, STOCK: stock}, options.rounds)


def compare(chapter: str, courses: dict[str, Path], rounds: int) -> None:
    """Prints one chapter's table."""
    first = {name: autograde(course, chapter) for name, course in courses.items()}
    for name, course in courses.items():
        assert_full_marks(course, chapter, name)
    batches, fresh = {name: [] for name in courses}, []
    for _ in range(rounds):
        fresh.append(seconds_of_a_fresh_python())
        for name, course in courses.items():
            batches[name].append(autograde(course, chapter))
    python = statistics.median(fresh)
    rows = {"alone, nothing cached": {name: batch.alone for name, batch in first.items()}}
    for words, part in (("alone", "alone"), ("each of a class", "following")):
        rows[words] = {name: statistics.median(getattr(b, part) for b in found) for name, found in batches.items()}
    print(f"\n{chapter}, {rounds} rounds; a fresh Python with PyTorch and Triton is 1 ({python:.1f} s here)")
    print(f"{'one notebook':24}{OURS:>16}{STOCK:>16}{OURS + ' / ' + STOCK:>28}")
    for words, row in rows.items():
        ratio = row[OURS] / row[STOCK]
        print(f"{words:24}{row[OURS] / python:16.2f}{row[STOCK] / python:16.2f}{ratio:28.2f}", flush=True)


def autograde(course: Path, chapter: str) -> Batch:
    """Grades the class. Raises SystemExit with what nbgrader said where it fails."""
    bin = str(Path(sys.executable).parent)  # nbgrader calls `alembic` by its bare name
    environment = {**os.environ, "PATH": bin + os.pathsep + os.environ["PATH"], "XDG_CACHE_HOME": f"{course}/cache"}
    environment.pop("TRITON_INTERPRET", None)  # this process's own setting
    command = [sys.executable, "-m", "nbgrader", "autograde", chapter, "--force"]
    began, marks, said = time.perf_counter(), [], []
    with subprocess.Popen(
        command, cwd=course, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout:
            said.append(line)
            if BEGINS in line:
                marks.append(time.perf_counter())
    ended = time.perf_counter()
    if process.returncode or len(marks) != len(CLASS):
        raise SystemExit("".join(said))
    return Batch(marks[1] - began, (ended - marks[1]) / (len(CLASS) - 1))


def assert_full_marks(course: Path, chapter: str, name: str) -> None:
    """A notebook that is not graded right takes any time."""
    for row in grade_demo.rows(course, CLASS[-1], chapter):
        if row.points is not None and row.points != row.most and row.why != "no answer":
            raise SystemExit(f"{name} gave {row.cell} of {chapter} {row.points:g} of {row.most:g} points: {row.why}")


def seconds_of_a_fresh_python() -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch, triton, triton.language"], check=True)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
