"""Grade three submissions through nbgrader and say who got what, and why.

    python tests/material/grade_demo.py [--to FOLDER]

A whole course root is made in a scratch folder, so that no teacher's gradebook is touched: the chapters are built and
released; ``right``, ``candle`` and the untouched release notebook are handed in, graded, given feedback and exported.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import make_submissions
import nbformat
from graded_kernels.autograder.classroom.nbgrader.pages import REPORT
from graded_kernels.autograder.judge.report.phrases import sentence
from graded_kernels.course.build import ROOT
from nbgrader.api import Gradebook, MissingEntry

CHAPTER = make_submissions.CHAPTER


@dataclass(frozen=True)
class Row:
    """What one student got for one graded cell. points is None where a person has to grade it."""

    student: str
    cell: str
    points: float | None
    most: float
    why: str


def main() -> int:
    parser = argparse.ArgumentParser(description="Grade three submissions through nbgrader.")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="an empty or new folder; default: a temporary one")
    course = parser.parse_args().to or Path(tempfile.mkdtemp(prefix="graded-kernels-"))
    if course.is_dir() and any(course.iterdir()):
        parser.error(f"{course} is not empty")
    make_course(course)
    nbgrader(course, "generate_assignment", CHAPTER)
    for student in ("right", "candle"):
        hand_in(course, student, make_submissions.path_of(student))
    hand_in(course, "untouched", course / "release" / CHAPTER / f"{CHAPTER}.ipynb")
    nbgrader(course, "autograde", CHAPTER)
    nbgrader(course, "generate_feedback", CHAPTER)
    nbgrader(course, "export", "--to=grades.csv")

    print()
    print(table([row for student in ("right", "candle", "untouched") for row in rows(course, student)]))
    print(f"\n{course / 'grades.csv'}:")
    print((course / "grades.csv").read_text(encoding="utf-8-sig"), end="")
    failed = "silu_backward-torch"
    print(f"\nWhat candle reads below its answer {failed}:\n")
    print(report_text(course, "candle", f"{failed}-check"))
    first, *others = sorted(course.glob("feedback/*/*/*.html"))  # candle's is the first, and the one that shows most
    print(f"\nOpen this in a browser first, it shows that report in colour:\n  {first}")
    print("Then these, for comparison:", *others, sep="\n  ")
    return 0


def make_course(course: Path) -> None:
    """A course root with our settings and the chapters as they are built: one that is half written has no notebook."""
    course.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "course" / "nbgrader_config.py", course)
    for chapter in (ROOT / "course" / "chapters").glob("*.md"):
        built = ROOT / "course" / "source" / chapter.stem / f"{chapter.stem}.ipynb"
        if built.is_file():
            (course / "source" / chapter.stem).mkdir(parents=True, exist_ok=True)
            shutil.copy(built, course / "source" / chapter.stem)


def hand_in(course: Path, student: str, notebook: Path) -> None:
    folder = course / "submitted" / student / notebook.stem
    folder.mkdir(parents=True)
    shutil.copy(notebook, folder)


def nbgrader(course: Path, *command: str) -> str:
    """Runs nbgrader in ``course``, shows its progress, and returns what it said. Raises SystemExit where it fails."""
    print(f"nbgrader {' '.join(command)}", flush=True)
    arguments = [sys.executable, "-m", "nbgrader", *command]
    printed = []
    with subprocess.Popen(
        arguments, cwd=course, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout:
            printed.append(line)
            if " points in " in line:
                print(f"  {line.partition('] ')[2]}", end="", flush=True)
    if process.returncode:
        raise SystemExit("".join(printed))
    return "".join(printed)


def rows(course: Path, student: str, assignment: str = CHAPTER) -> Iterator[Row]:
    """The graded cells of one submission, in their order in the notebook."""
    path = course / "autograded" / student / assignment / f"{assignment}.ipynb"
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        for cell in nbformat.read(path, as_version=4).cells:
            name = make_submissions.grade_id(cell)
            try:
                grade = gradebook.find_grade(name, assignment, assignment, student)
            except MissingEntry:
                continue
            points = grade.manual_score if grade.manual_score is not None else grade.auto_score
            reason = "waits for a person" if points is None else why(cell)
            yield Row(student, name.removesuffix("-check"), points, grade.max_score, reason)


def report_text(course: Path, student: str, check: str, assignment: str = CHAPTER) -> str:
    """The report in a check cell of a graded notebook, as a terminal shows it."""
    path = course / "autograded" / student / assignment / f"{assignment}.ipynb"
    (cell,) = (c for c in nbformat.read(path, as_version=4).cells if make_submissions.grade_id(c) == check)
    (report,) = (output.data for output in cell.outputs if REPORT in output.get("data", {}))
    return report["text/plain"]


def why(cell) -> str:
    """The first failing case and the bug it resembles, from the report in a check cell; "" where nothing is wrong."""
    if cell.cell_type == "markdown":
        return "no answer"  # the only written answer that nbgrader itself gives a score
    data = [output.data for output in cell.outputs if "data" in output]
    report = next((bundle[REPORT] for bundle in data if REPORT in bundle), None)
    if report is None or report["passed"]:
        return ""
    wrong = [case for case in report["cases"] if case["failure"] and not case["bonus"]]
    first = f"{wrong[0]['name']}: {wrong[0]['message']}" if wrong else report["summary"]
    return f"{first} {sentence(report['fingerprint'] or '')}".removesuffix(" .")


def table(found: list[Row]) -> str:
    """Aligned columns, a total after every student. No colour, so that it can go into a file or a mail."""
    lines = [("student", "cell", "points", "of", "why")]
    for student in dict.fromkeys(row.student for row in found):
        mine = [row for row in found if row.student == student]
        lines += [(row.student, row.cell, number(row.points), number(row.most), row.why) for row in mine]
        total, most = sum(row.points or 0 for row in mine), sum(row.most for row in mine)
        lines += [(student, "total", number(total), number(most), ""), ("", "", "", "", "")]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        f"{a:{widths[0]}}  {b:{widths[1]}}  {c:>{widths[2]}}  {d:>{widths[3]}}  {e}".rstrip() for a, b, c, d, e in lines
    ).rstrip()


def number(points: float | None) -> str:
    return "-" if points is None else f"{points:g}"


if __name__ == "__main__":
    sys.exit(main())
