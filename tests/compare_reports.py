"""Everything that a check reports, compared between two checkouts, or written to a file before a change.

    export PYTHONPATH=tests/material
    python tests/compare_reports.py between 2499e12 .  [--part demo ...] [--match silu]     exit status 1 if they differ
    python tests/compare_reports.py write before.json  [--part demo ...] [--match silu]
    python tests/compare_reports.py compare before.json after.json

A checkout is a folder or a commit. In each, this file runs with the checkout's own tests and package; a part that it is
too old for is left out. Names that only one of them has (a new exercise, a new mutant) are listed. An exercise that was
renamed is compared with what it is called now. Parts, each a dictionary by name:

- ``draws``: of every case what it says of itself, and a digest of the arguments it draws, for two seeds;
- ``answers``, ``wild``: the reports on our own answers and on the bugs as they shipped, as JSON has them;
- ``mutants``: those on our answers with one line changed, which take the longest;
- ``demo``: the points and reports of the kept submissions, graded in the sandbox through nbgrader.
"""

import argparse
import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

# Only what every release has: this file runs in older checkouts, too. `draws` imports what newer ones have.
import broken
import grade_demo
import make_submissions
import nbformat
import torch
from answers import PAIRS, answer
from graded_kernels.autograder import check
from graded_kernels.autograder.judge import EXERCISES
from graded_kernels.autograder.judge.checking.check import check_answer

Named = Iterator[tuple[str, Callable[[], dict]]]
SEEDS = (0, 1)
TIMES = {"seconds", "cached"}
SHOWN = 20  # differences of one part that are printed


def digest(args: tuple) -> str:
    """Of every bit of the tensors, their layout, and the other arguments."""
    from graded_kernels.autograder.runner.call.elements import bits

    found = hashlib.sha256()
    for one in args:
        if isinstance(one, torch.Tensor):
            found.update(repr((one.dtype, tuple(one.shape), one.stride())).encode())
            found.update(bits(one).contiguous().numpy().tobytes())
        else:
            found.update(repr(one).encode())
    return found.hexdigest()


def draws() -> Named:
    for record in EXERCISES.values():
        for number, case in enumerate(getattr(record, "cases", ())):
            yield f"{record.name} / {number} {case.name}", lambda number=number, case=case: _drawn(number, case)


def _drawn(number: int, case) -> dict:
    from graded_kernels.autograder.judge.comparing.trial import arguments

    fields = {name: repr(getattr(case, name)) for name in ("hint", "bonus", "within", "swept", "says")}
    fields |= {"raises": repr(case.raises), "convention": case.convention}
    drawn = [arguments(case, number, seed) for seed in SEEDS]
    repaired = [case.repaired(args) for args in drawn] if case.repaired else []
    return fields | {"digests": list(map(digest, drawn + repaired))}


def report_on(answer, backend: str, **how):
    try:
        from graded_kernels.autograder.judge import Settings
    except ImportError:  # a checkout from before they were one value
        return check_answer(answer, backend, **how)
    return check_answer(answer, Settings(backend, **how))


def answers() -> Named:
    for pair in PAIRS:
        yield " / ".join(pair), lambda pair=pair: _by_case(report_on(answer(*pair), pair[1]).to_dict())


def wild() -> Named:
    for record in EXERCISES.values():
        for bug in getattr(record, "wild", ()):
            yield f"{record.name} / {bug.who}", lambda name=record.name, bug=bug: _wild(name, bug)


def _wild(name: str, bug) -> dict:
    return _by_case(check(name, lambda *args: bug.function(*args), backend="torch").to_dict())


def mutants() -> Named:
    for pair, rows in broken.mutants().items():
        for row in rows:
            yield f"{' / '.join(pair)} / {row.why}", lambda pair=pair, row=row: _mutant(*pair, row)


def _mutant(name: str, backend: str, row: broken.Mutant) -> dict:
    return _by_case(report_on(answer(name, backend, row.old, row.new), backend, compiler=False).to_dict())


def demo() -> Named:
    with tempfile.TemporaryDirectory(prefix="graded-kernels-") as folder, contextlib.redirect_stdout(sys.stderr):
        course = Path(folder)
        grade_demo.make_course(course)
        with (course / "nbgrader_config.py").open("a") as file:
            file.write("\nc.Grade.seed = 1\n")  # otherwise each class has its own inputs
        grade_demo.nbgrader(course, "generate_assignment", grade_demo.CHAPTER)
        for student in ("right", "candle"):
            grade_demo.hand_in(course, student, make_submissions.path_of(student))
            grade_demo.nbgrader(course, "autograde", grade_demo.CHAPTER, "--student", student)
            for row in grade_demo.rows(course, student):
                fields = {"points": row.points, "of": row.most, "why": row.why}
                yield f"{student} / {row.cell}", lambda fields=fields: fields
            for cell in nbformat.read(next(course.glob(f"autograded/{student}/*/*.ipynb")), as_version=4).cells:
                for bundle in (o.data for o in cell.get("outputs", ()) if grade_demo.REPORT in o.get("data", {})):
                    yield (
                        f"{student} / {make_submissions.grade_id(cell)} / report",
                        lambda bundle=bundle: _shown(bundle),
                    )


def _shown(bundle: dict) -> dict:
    """A report in a notebook: as data, as text and as HTML, in lines."""
    plain = {kind: text.splitlines() for kind, text in bundle.items() if isinstance(text, str)}
    return plain | {grade_demo.REPORT: _by_case(bundle[grade_demo.REPORT])}


def _by_case(report: dict) -> dict:
    """The cases by name rather than by number: a new one must not shift the others."""
    return {**report, "cases": {case["name"]: case for case in report["cases"]}}


PARTS: dict[str, Callable[[], Named]] = {part.__name__: part for part in (draws, answers, wild, demo, mutants)}


def write(path: Path, parts: list[str], match: str = "") -> int:
    """Adds to what the file holds, a part as soon as it is known."""
    found = json.loads(path.read_text()) if path.exists() else {}
    for part in parts or PARTS:
        try:
            found[part] = {name: make() for name, make in PARTS[part]() if re.search(match, name)}
        except ImportError as error:
            print(f"{part}: this checkout is too old: {error}", file=sys.stderr)
            continue
        path.write_text(json.dumps(found, indent=1))
        print(f"{part}: {len(found[part])}", file=sys.stderr, flush=True)
    return 0


def between(before: str, after: str, parts: list[str], match: str) -> int:
    """Writes the files of both checkouts, and compares them."""
    with tempfile.TemporaryDirectory(prefix="graded-kernels-compared-") as folder:
        files = []
        for name, which in (("before", before), ("after", after)):
            print(f"{name}: {which}", file=sys.stderr, flush=True)
            files.append(Path(folder, f"{name}.json"))
            with checkout(which, Path(folder, name)) as path:
                write_with(path, Path(folder, f"{name}-package"), files[-1], parts, match)
        return compare(*files)


@contextlib.contextmanager
def checkout(which: str, folder: Path) -> Iterator[Path]:
    """The folder that this is, or a new one with this commit in it."""
    if Path(which).is_dir():
        yield Path(which).resolve()
        return
    archive = ["git", "archive", "--format=tar", f"--output={folder}.tar", which]
    subprocess.run(archive, cwd=Path(__file__).resolve().parent.parent, check=True)
    with tarfile.open(f"{folder}.tar") as files:
        files.extractall(folder, filter="data")
    yield folder


def write_with(checkout: Path, link: Path, file: Path, parts: list[str], match: str) -> None:
    """`write` in a process that imports the package and the tests of this checkout, before any that are installed."""
    link.mkdir()
    (link / "graded_kernels").symlink_to(checkout)
    command = [sys.executable, "-P", __file__, "write", str(file), f"--match={match}"]  # -P: not this file's folder
    path = os.pathsep.join(map(str, (link, checkout / "tests" / "material", checkout / "tests")))
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run([*command, *(f"--part={part}" for part in parts)], env=environment, cwd=checkout, check=True)


def different(before: object, after: object, where: str) -> Iterator[str]:
    """The leaves that differ, each with the way to it; not how long something took."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in (before.keys() | after.keys()) - TIMES:
            yield from different(before.get(key, "(absent)"), after.get(key, "(absent)"), f"{where} / {key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from different(one, other, f"{where} / {number}")
    elif before != after:
        yield f"{where}\n  before  {before!r:.300}\n  after   {after!r:.300}"


def compare(before: Path, after: Path) -> int:
    one, other = (json.loads(path.read_text()) for path in (before, after))
    total = 0
    for part in one.keys() & other.keys():
        both = one[part].keys() & other[part].keys()
        found = sorted(
            line for name in both for line in different(one[part][name], other[part][name], f"{part} / {name}")
        )
        print(*found[:SHOWN], sep="\n", end="\n" if found else "")
        for name in sorted(one[part].keys() ^ other[part].keys()):
            print(f"{part} / {name}: {'before' if name in one[part] else 'after'} only")
        fields = Counter(line.partition("\n")[0].rpartition(" / ")[2] for line in found)
        kinds = ", ".join(f"{count} in {field}" for field, count in fields.most_common())
        print(f"{part}: {len(one[part])} before, {len(other[part])} after, {len(found)} differences: {kinds or 'none'}")
        total += len(found)
    for part in one.keys() ^ other.keys():
        print(f"{part}: in one of the checkouts only, not compared")
    return 1 if total else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    what = argparse.ArgumentParser(add_help=False)
    what.add_argument("--part", action="append", choices=PARTS, default=[], help="default: all")
    what.add_argument("--match", default="", metavar="REGEX", help="of a name that begins with the exercise's")
    writing = commands.add_parser("write", parents=[what])
    writing.add_argument("file", type=Path)
    both = commands.add_parser("between", parents=[what])
    both.add_argument("before")
    both.add_argument("after")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.command == "write":
        return write(options.file, options.part, options.match)
    if options.command == "between":
        return between(options.before, options.after, options.part, options.match)
    return compare(options.before, options.after)


if __name__ == "__main__":
    sys.exit(main())
