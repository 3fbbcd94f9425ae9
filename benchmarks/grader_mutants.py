"""The mutation operators turned on the grader itself: a sample of mutants of its rooms, and the tests that kill them.

    python benchmarks/grader_mutants.py [--count 300] [--seed 28] [--page]

Each mutant is written into a copy of the project, in which a forked process runs the quick tests that enter the mutated
function, the module with the most of them for its time first, until one fails. A first pass over the tests finds out
which those are. What is found is kept in build/, and a second run goes on.
"""

import argparse
import ast
import collections
import compileall
import datetime
import fnmatch
import hashlib
import json
import math
import os
import py_compile
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

from mutation import Mutant, drafts, written  # noqa: E402

ROOMS = ("judge", "gpu/emulator")
TESTS = ("judge", "gpu")  # folders of tests/ with the tests of these rooms
LEFT_OUT = (
    "audit benchmark_pages ci_files cli compare_isolated compare_table compiler device exam grader_mutants in_notebook "
    "margins marks mutants sanitize_compiled sanitize_subprocesses several verdicts walls without_triton"
)
SLOW = 5  # seconds of a test that is left out
IMPORT = 0.4  # seconds that a module of tests takes before its first one
SECONDS, MEMORY = 60, 6 << 30  # of a mutant's process; one that takes longer is killed
IGNORED = shutil.ignore_patterns(".venv", ".git", "build", "__pycache__", "*.egg-info", ".*_cache")
FOUND = ROOT / "build" / "grader_mutants"


class Candidate(NamedTuple):
    """A mutant of the file at ``path``, relative to the project. place: (path, line) where the mutated function begins,
    line 0 of what is in no function.
    """

    path: str
    mutant: Mutant
    place: tuple[str, int]

    @property
    def id(self) -> str:
        return hashlib.sha256(f"{self.path} {self.mutant.source}".encode()).hexdigest()[:16]


def sample(rooms: list[str], seed: int, count: int) -> list[Candidate]:
    """The first ``count`` mutants in an order that follows from the seed: a smaller sample is part of a larger one."""
    paths = [str(p.relative_to(ROOT)) for room in rooms for p in sorted((ROOT / "autograder" / room).rglob("*.py"))]
    sources = {path: (ROOT / path).read_text(encoding="utf-8") for path in paths}
    numbered = [(path, *entry) for path in paths for entry in enumerate(drafts(sources[path]))]
    numbered.sort(key=lambda entry: hashlib.sha256(f"{seed} {entry[0]} {entry[1]}".encode()).digest())
    found: dict[str, Candidate] = {}
    for path, _, draft in numbered:
        if len(found) < count and (mutant := written(sources[path], draft)):
            candidate = Candidate(path, mutant, (path, functions(sources[path]).get(mutant.line, 0)))
            found.setdefault(candidate.id, candidate)
    return list(found.values())


def functions(source: str) -> dict[int, int]:
    """Where the innermost function begins, its decorators included, by the lines of its body."""
    found = {}
    for node in ast.walk(ast.parse(source)):  # outer functions come first
        if isinstance(node, ast.FunctionDef):
            begin = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found |= dict.fromkeys(range(node.body[0].lineno, (node.end_lineno or 0) + 1), begin)
    return found


class Traced:
    """A plugin of pytest: how long each test takes and which functions it enters."""

    def __init__(self, tell: Callable[[dict], None], copy: Path):
        self.tell, self.prefix, self.failed = tell, f"{copy}/", set()

    def pytest_runtest_protocol(self, item):
        self.entered = set()
        self.began = time.monotonic()
        sys.settrace(self.trace)
        threading.settrace(self.trace)

    def trace(self, frame, event, argument) -> None:
        self.entered.add(frame.f_code)

    def pytest_runtest_logreport(self, report):
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid):
        sys.settrace(None)
        threading.settrace(None)
        places = {(c.co_filename.removeprefix(self.prefix), c.co_firstlineno) for c in self.entered}
        entered = sorted(p for p in places if p[0].startswith("autograder/"))
        if nodeid not in self.failed:
            self.tell({"test": nodeid, "seconds": time.monotonic() - self.began, "entered": entered})


class Chosen:
    """A plugin of pytest: runs these tests and tells the first one that fails."""

    def __init__(self, tell: Callable[[dict], None], tests: set[str]):
        self.tell, self.tests = tell, tests

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid in self.tests]

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.tell({"killed": report.nodeid})


class Stage:
    """A copy of the project, and a process with PyTorch, Triton and pytest from which others are forked."""

    def __enter__(self) -> "Stage":
        self.folder = tempfile.TemporaryDirectory(prefix="grader-mutants-")
        self.copy = Path(self.folder.name) / "graded_kernels"
        shutil.copytree(ROOT, self.copy, ignore=IGNORED)
        by_content = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(self.copy / "autograder", quiet=2, invalidation_mode=by_content)
        os.environ |= {"PYTHONPATH": self.folder.name, "PYTHONDONTWRITEBYTECODE": "1", "TRITON_INTERPRET": "1"}
        sys.path.insert(0, self.folder.name)
        sys.dont_write_bytecode = True
        os.chdir(self.copy)
        import pytest  # noqa: F401
        import torch
        import triton.runtime.interpreter  # noqa: F401

        torch.set_num_threads(1)
        return self

    def __exit__(self, *error) -> None:
        os.chdir(ROOT)
        self.folder.cleanup()

    def run(self, modules: list[str], plugin: Callable[[Callable[[dict], None]], object], seconds: int) -> list[dict]:
        """What the plugin tells of pytest in these modules, one after the other; ``{"killed": ...}`` of a process that
        ended before its time.
        """
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.setsid()
            os.close(read)
            self.test(modules, plugin(lambda row: os.write(write, json.dumps(row).encode() + b"\n")), seconds)
        os.close(write)
        timer = threading.Timer(3 * seconds, os.killpg, (child, signal.SIGKILL))
        timer.start()
        with open(read) as pipe:
            rows = [json.loads(line) for line in pipe if line.endswith("\n")]
        _, status = os.waitpid(child, 0)
        timer.cancel()
        killed = [] if status == 0 else [{"killed": "time or memory" if os.WIFSIGNALED(status) else "no test runs"}]
        return rows or killed

    def test(self, modules: list[str], plugin: object, seconds: int) -> None:
        """Ends this process: with 0 where all tests pass."""
        import pytest

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        own = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (own + MEMORY,) * 2)
        silent = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(silent, number)
        status = 1
        try:
            options = ["-q", "--maxfail", "1" if isinstance(plugin, Chosen) else "99", "-p", "no:cacheprovider"]
            status = next((1 for m in modules if pytest.main([*options, m], plugins=[plugin]) not in (0, 5)), 0)
        finally:
            os._exit(status)


def traced(stage: Stage) -> list[dict]:
    """Every quick test that passes, with its seconds and the functions of the grader that it enters."""
    path = FOUND / "tests.jsonl"
    if not path.exists():
        left_out = tuple(f"test_{word}" for word in LEFT_OUT.split())
        modules = [p for folder in TESTS for p in sorted((ROOT / "tests" / folder).glob("test_*.py"))]
        rows = []
        for name in (str(p.relative_to(ROOT)) for p in modules if not p.name.startswith(left_out)):
            came = stage.run([name], lambda tell: Traced(tell, stage.copy), SECONDS)
            rows += [row for row in came if "test" in row]
            print(f"{name}: {sum('test' in row for row in came)} tests", file=sys.stderr, flush=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [row for row in rows if row["seconds"] < SLOW]


def modules_for(candidate: Candidate, tests: list[dict], budget: float) -> list[tuple[str, set[str]]]:
    """(module, its tests that enter the mutated function, or else its file), until the budget of seconds is spent: one
    case of each test before a second one of any, and quick ones first.
    """
    of_file = [test for test in tests if any(path == candidate.path for path, _ in test["entered"])]
    entering = [test for test in of_file if candidate.place in map(tuple, test["entered"])]
    case: collections.Counter[str] = collections.Counter()
    ordered = []
    for test in sorted(entering or of_file, key=lambda test: test["seconds"]):
        name = test["test"].partition("[")[0]
        ordered.append((case[name], test["seconds"], test["test"]))
        case[name] += 1
    chosen, spent = collections.defaultdict(set), collections.Counter()
    for _, seconds, name in sorted(ordered):
        module = name.partition("::")[0]
        seconds += 0 if module in chosen else IMPORT
        if spent.total() + seconds <= budget:
            chosen[module].add(name)
            spent[module] += seconds
    return sorted(chosen.items(), key=lambda item: -len(item[1]) / (1 + spent[item[0]]))


def run(candidate: Candidate, stage: Stage, tests: list[dict], budget: float, asked: float = 0) -> dict:
    """The row of one mutant. killed: the test that fails, or what ended the process; "" where it survives.

    asked: seconds of the budget in which it survived before; those tests are not run again.
    """
    passed = {name for _, names in modules_for(candidate, tests, asked) for name in names}
    groups = [(module, names - passed) for module, names in modules_for(candidate, tests, budget) if names - passed]
    chosen = {name for _, names in groups for name in names}
    file = stage.copy / candidate.path
    file.write_text(candidate.mutant.source, encoding="utf-8")
    began = time.process_time() + sum(os.times()[2:4])
    try:
        came = stage.run([module for module, _ in groups], lambda tell: Chosen(tell, chosen), SECONDS)
    finally:
        shutil.copyfile(ROOT / candidate.path, file)
    named = {name: getattr(candidate.mutant, name) for name in ("operator", "line", "old", "new")}
    row = {"id": candidate.id, "path": candidate.path, **named, "tests": len(chosen), "budget": budget}
    seconds = time.process_time() + sum(os.times()[2:4]) - began
    return row | {"killed": came[0]["killed"] if came else "", "seconds": round(seconds, 1)}


def page(rows: list[dict], options: argparse.Namespace) -> str:
    import torch
    import triton

    lines = [
        "# Mutants of the grader",
        "",
        f"`python benchmarks/grader_mutants.py --count {options.count} --seed {options.seed} --page`, "
        f"{datetime.date.today()}, Python {'.'.join(map(str, sys.version_info[:3]))}, PyTorch {torch.__version__}, "
        f"Triton {triton.__version__}.",
        "",
        "One small mistake at a time (benchmarks/mutation.py has the operators) in the rooms that decide, each put to "
        f"the quick tests that enter the mutated function, up to {options.budget:g} s of them. *Killed*: a test fails, "
        "or the mutant breaks a limit of time or memory. A survivor is equivalent, or a gap in the tests, or seen by "
        "longer tests alone. Goal: a change of the grader kills no smaller share than before.",
        "",
        "| room | mutants | killed | survived | share |",
        "|---|---|---|---|---|",
    ]
    for room in [*options.rooms, ""]:
        mine = [row for row in rows if row["path"].startswith(f"autograder/{room}")]
        killed = sum(bool(row["killed"]) for row in mine)
        share = f"{killed / max(len(mine), 1):.1%}"
        lines.append(f"| {room or '**all**'} | {len(mine)} | {killed} | {len(mine) - killed} | {share} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="mutants in the sample")
    parser.add_argument("--seed", type=int, default=28, help="of the sample")
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS), help="folders of autograder/")
    parser.add_argument("--budget", type=float, default=15, help="seconds of tests for each mutant")
    parser.add_argument("--only", default="*", help="mutants of these files, a pattern")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which no other mutant is begun")
    parser.add_argument("--page", action="store_true", help="writes grader_mutants.md beside this file")
    options = parser.parse_args()
    chosen = [c for c in sample(options.rooms, options.seed, options.count) if fnmatch.fnmatch(c.path, options.only)]
    path = FOUND / f"{options.seed}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = {row["id"]: row for row in map(json.loads, path.read_text().splitlines())} if path.exists() else {}
    done = {id for id, row in rows.items() if row["killed"] or row["budget"] >= options.budget}
    end = time.monotonic() + 60 * options.minutes
    with Stage() as stage:
        tests = traced(stage)
        for number, candidate in enumerate(chosen, 1):
            if candidate.id not in done and time.monotonic() < end:
                asked = rows[candidate.id]["budget"] if candidate.id in rows else 0
                row = rows[candidate.id] = run(candidate, stage, tests, options.budget, asked)
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                said = row["killed"] or f"SURVIVES {row['tests']} tests: {row['old']} -> {row['new']}"
                where = f"{candidate.path}:{candidate.mutant.line}"
                print(f"{number} of {len(chosen)} {row['seconds']} s {where} {said}", file=sys.stderr, flush=True)
    text = page([rows[one.id] for one in chosen], options)
    if options.page:
        (HERE / "grader_mutants.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
