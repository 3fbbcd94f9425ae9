"""Everything that a check says, written to a file before a change and compared after it.

    python tests/compare_reports.py write before.json [--part draws ...]
    python tests/compare_reports.py compare before.json after.json      exit status 1 where they differ

Parts, each a dictionary by name:

- ``draws``: of every case what it says of itself, and a digest of the arguments it draws, for two seeds;
- ``answers``, ``wild``: the reports on our own answers and on the bugs as they shipped, as JSON has them;
- ``mutants``: those on our answers with one line changed, which take the longest;
- ``demo``: the points and reports of the kept submissions, graded in the sandbox through nbgrader.
"""

import argparse
import contextlib
import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import broken
import grade_demo
import make_submissions
import nbformat
import torch
from answers import PAIRS, answer
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.check import check_answer
from graded_kernels.autograder.exercises.record import Exercise
from graded_kernels.autograder.judge.judge import arguments
from graded_kernels.autograder.nbgrader.outputs import REPORT
from graded_kernels.autograder.sandbox.wire.buffers import bits

SEEDS = (0, 1)
SHOWN = 20  # differences of one part that are printed


def digest(args: tuple) -> str:
    """Of every bit of the tensors, their layout, and the other arguments."""
    found = hashlib.sha256()
    for one in args:
        if isinstance(one, torch.Tensor):
            found.update(repr((one.dtype, tuple(one.shape), one.stride())).encode())
            found.update(bits(one).contiguous().numpy().tobytes())
        else:
            found.update(repr(one).encode())
    return found.hexdigest()


def draws() -> Iterator[tuple[str, dict]]:
    for record in EXERCISES.values():
        for number, case in enumerate(record.cases if isinstance(record, Exercise) else ()):
            fields = {name: repr(getattr(case, name)) for name in ("hint", "bonus", "within", "swept", "says")}
            fields |= {"raises": repr(case.raises), "convention": case.convention}
            drawn = [arguments(case, number, seed) for seed in SEEDS]
            repaired = [case.repaired(args) for args in drawn] if case.repaired else []
            yield f"{record.name} / {number} {case.name}", fields | {"digests": list(map(digest, drawn + repaired))}


def answers() -> Iterator[tuple[str, dict]]:
    for name, backend in PAIRS:
        yield f"{name} / {backend}", check_answer(answer(name, backend), backend).to_dict()


def wild() -> Iterator[tuple[str, dict]]:
    for record in EXERCISES.values():
        for bug in record.wild if isinstance(record, Exercise) else ():
            report = check(record.name, lambda *args, bug=bug: bug.function(*args), backend="torch")
            yield f"{record.name} / {bug.who}", report.to_dict()


def mutants() -> Iterator[tuple[str, dict]]:
    for (name, backend), rows in broken.mutants().items():
        for row in rows:
            report = check_answer(answer(name, backend, row.old, row.new), backend, compiler=False)
            yield f"{name} / {backend} / {row.why}", report.to_dict()


def demo() -> Iterator[tuple[str, dict]]:
    with tempfile.TemporaryDirectory(prefix="graded-kernels-") as folder, contextlib.redirect_stdout(sys.stderr):
        course = Path(folder)
        grade_demo.make_course(course)
        grade_demo.nbgrader(course, "generate_assignment", grade_demo.CHAPTER)
        for student in ("right", "candle"):
            grade_demo.hand_in(course, student, make_submissions.path_of(student))
            grade_demo.nbgrader(course, "autograde", grade_demo.CHAPTER, "--student", student)
            for row in grade_demo.rows(course, student):
                yield f"{student} / {row.cell}", {"points": row.points, "of": row.most, "why": row.why}
            for cell in nbformat.read(next(course.glob(f"autograded/{student}/*/*.ipynb")), as_version=4).cells:
                for bundle in (o.data for o in cell.get("outputs", ()) if REPORT in o.get("data", {})):
                    yield f"{student} / {make_submissions.grade_id(cell)} / report", dict(bundle)


PARTS: dict[str, Callable[[], Iterator[tuple[str, dict]]]] = {
    part.__name__: part for part in (draws, answers, wild, demo, mutants)
}


def write(path: Path, parts: list[str]) -> int:
    """Adds to what the file holds, a part as soon as it is known."""
    found = json.loads(path.read_text()) if path.exists() else {}
    for part in parts or PARTS:
        found[part] = dict(PARTS[part]())
        path.write_text(json.dumps(found, indent=1))
        print(f"{part}: {len(found[part])}", flush=True)
    return 0


def different(before: object, after: object, where: str) -> Iterator[str]:
    """The leaves that differ, each with the way to it."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            yield from different(before.get(key, "(absent)"), after.get(key, "(absent)"), f"{where} / {key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from different(one, other, f"{where} / {number}")
    elif before != after:
        yield f"{where}\n  before  {before!r:.300}\n  after   {after!r:.300}"


def compare(before: Path, after: Path) -> int:
    one, other = json.loads(before.read_text()), json.loads(after.read_text())
    total = 0
    for part in one.keys() & other.keys():
        found = sorted(different(one[part], other[part], part))
        print(*found[:SHOWN], sep="\n", end="\n" if found else "")
        print(f"{part}: {len(one[part])} before, {len(other[part])} after, {len(found)} differences")
        total += len(found)
    for part in one.keys() ^ other.keys():
        print(f"{part}: in one of the files only, not compared")
    return 1 if total else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write")
    writing.add_argument("file", type=Path)
    writing.add_argument("--part", action="append", choices=PARTS, default=[], help="default: all")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.command == "write":
        return write(options.file, options.part)
    return compare(options.before, options.after)


if __name__ == "__main__":
    sys.exit(main())
