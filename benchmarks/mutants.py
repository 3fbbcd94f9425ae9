"""Mutants of our answers put to the check: how many it refuses, by exercise and by operator, and which it does not.

    python benchmarks/mutants.py --seed 1              a sample of 600; what it finds is kept in build/mutants/
    python benchmarks/mutants.py --seed 1 --again      those of it that passed once more, after a case was added
    python benchmarks/mutants.py --seed 1 2 --page     the same, and writes benchmarks/mutants.md

`mutation.py` makes the mutants. Each is called case by case in a process of its own, with a limit of time and of
memory, up to the first case that it fails. One that passes them all is equivalent, and `mutants.toml` says why; or it
is checked as a learner's answer is, apart and by the compiler. What passes that is a survivor: a case is missing.
"""

import argparse
import ast
import dataclasses
import functools
import hashlib
import heapq
import json
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "material")]
os.environ["TRITON_INTERPRET"] = "1"

import torch  # noqa: E402
from answers import FOLDERS, PAIRS, answer, regions  # noqa: E402
from graded_kernels.autograder import EXERCISES  # noqa: E402
from graded_kernels.autograder.judge import (  # noqa: E402
    Case,
    Exercise,
    Settings,
)
from graded_kernels.autograder.judge.checking.case_verdict import judge_case  # noqa: E402
from graded_kernels.autograder.judge.checking.check import check_answer  # noqa: E402
from graded_kernels.autograder.judge.comparing.closeness import Expected, expect  # noqa: E402
from graded_kernels.autograder.judge.comparing.trial import Trial, arguments  # noqa: E402
from graded_kernels.autograder.runner import (  # noqa: E402
    Answer,
    AnswerError,
    Args,
    InProcess,
    Worker,
)
from mutants_page import Row, page, read  # noqa: E402
from mutation import Mutant, mutants  # noqa: E402

SECONDS, MEMORY = 20, 4 << 30  # of one mutant: many times what an answer takes
COUNT = 600
FOUND = HERE.parent / "build" / "mutants"


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A mutant of the answer to an exercise. judges: the exercises whose check it is put to, its own first: the answer
    to another one may call what was changed, and make more of it.
    """

    exercise: str
    backend: str
    mutant: Mutant
    judges: tuple[str, ...]

    def answer(self, judge: str) -> Answer:
        """To the exercise that judges it."""
        right = answer(judge, self.backend)
        own = f"{self.exercise}-{self.backend}"
        cells = (dataclasses.replace(c, source=self.mutant.source) if c.name == own else c for c in right.cells)
        return dataclasses.replace(right, cells=tuple(cells))

    @property
    def id(self) -> str:
        return digest(f"{self.exercise} {self.backend} {self.mutant.source}")

    @property
    def row(self) -> Row:
        """What identifies it, for whoever reads it. text: the line, as it is in the answer."""
        text = source_of(self.exercise, self.backend).splitlines()[self.mutant.line - 1].strip()
        named = {name: getattr(self.mutant, name) for name in ("operator", "line", "old", "new")}
        return {"id": self.id, "exercise": self.exercise, "backend": self.backend, "text": text} | named


def source_of(exercise: str, backend: str) -> str:
    return regions()[FOLDERS[backend], exercise].source


FUNCTIONS = tuple((name, backend) for name, backend in PAIRS if isinstance(EXERCISES[name], Exercise))


def candidates(pairs: Iterable[tuple[str, str]] = FUNCTIONS) -> list[Candidate]:
    """Every mutant of these answers. A witness has none: it is right by what it shows."""
    return [one for pair in pairs for one in _candidates(*pair)]


@functools.cache
def _candidates(name: str, backend: str) -> list[Candidate]:
    """Where a check can see them."""
    source, found = source_of(name, backend), []
    defined = definitions(source)
    others = [name, *(other for other, also in FUNCTIONS if also == backend and other != name)]
    for mutant in mutants(source):
        judges = tuple(other for other in others if (name, defined.get(mutant.line)) in reached(other, backend))
        found += [Candidate(name, backend, mutant, judges)] if judges else []
    return found


@functools.cache
def reached(exercise: str, backend: str) -> frozenset[tuple[str, str]]:
    """(exercise, name) of all that the answer to ``exercise`` uses at the top of its own and of earlier answers."""
    cells = {cell.name.removesuffix(f"-{backend}"): cell.source for cell in answer(exercise, backend).cells}
    defined = {
        name: (cell, node) for cell, text in cells.items() for node in ast.parse(text).body for name in names_of(node)
    }
    found, left = {exercise}, [exercise]
    while left:
        used = {n.id for n in ast.walk(defined[left.pop()][1]) if isinstance(n, ast.Name)} & defined.keys() - found
        found |= used
        left += used
    return frozenset((defined[name][0], name) for name in found)


def names_of(statement: ast.stmt) -> list[str]:
    """What a statement at the top of a module defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    return [n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def definitions(source: str) -> dict[int, str]:
    """What the statement at the top defines that has a line, its first name, by the number of the line."""
    statements = [node for node in ast.parse(source).body if names_of(node)]
    return {line: names_of(one)[0] for one in statements for line in range(one.lineno, (one.end_lineno or 0) + 1)}


def sample(seed: int, count: int, pairs: Iterable[tuple[str, str]] = FUNCTIONS) -> list[Candidate]:
    """``count`` of the candidates, or all, those of one exercise together. What it holds of an answer changes with that
    answer alone.
    """
    chosen = heapq.nsmallest(count, candidates(pairs), key=lambda one: digest(f"{seed} {one.id}"))
    return sorted(chosen, key=lambda one: (one.exercise, one.backend, one.mutant.line))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def first_failure(candidate: Candidate, seed: int) -> str:
    """The case that it fails, or "". Distinctions are left out."""
    for judge in candidate.judges:
        record = EXERCISES[judge]
        try:
            runner = InProcess(candidate.answer(judge).load(), record.contract, candidate.backend)
        except AnswerError:
            return "the code does not run"
        for case, args, expected in questions(judge, seed):
            trial = Trial(record, case, args, expected, runner, Settings(candidate.backend))
            if judge_case(trial).result.status != "pass":
                return f"{judge}: {case.name}"
    return ""


@functools.lru_cache(maxsize=1)
def questions(exercise: str, seed: int) -> list[tuple[Case, Args, Expected | None]]:
    """Each case but the distinctions, its arguments, and what is right for them: None where the call should raise."""
    record, found = EXERCISES[exercise], []
    for number, case in enumerate(record.cases):
        if not case.bonus:
            args = arguments(case, number, seed)
            found.append((case, args, None if case.raises else expect(record, case, args)))
    return found


def start(candidate: Candidate, seed: int) -> tuple[int, int]:
    """A process that writes the first failure, or "": its id, and where to read."""
    questions(candidate.judges[0], seed)  # worked out before, for all processes that are started from here
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        return child, read
    status = 1
    try:
        torch.set_num_threads(1)  # it hangs in an operator if its parent had a thread pool
        limit()
        warnings.simplefilter("ignore")  # what Python says of a mutant's text
        os.write(write, first_failure(candidate, seed).encode())
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(status)


def limit() -> None:
    """Processor time and memory of this process. Addresses are free: a tensor with rows 2^31 apart has many."""
    own = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (own + MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS,) * 2)
    signal.alarm(10 * SECONDS)


def ended(status: int, read: int) -> str:
    """What the process of this exit status wrote. Raises RuntimeError where it failed and not the mutant."""
    with open(read) as pipe:
        found = pipe.read()
    code = os.waitstatus_to_exitcode(status)
    if code > 0:
        raise RuntimeError("a mutant was not judged; the error is above")
    return found if code == 0 else "limit of time or memory"


def checked(candidate: Candidate, seed: int, worker: Worker) -> dict[str, str]:
    """What the whole check finds, of one that passes all cases in this process: a failure, a note that the right answer
    does not get, or a distinction that fails.
    """
    noted, lost = [], []
    for judge in candidate.judges:
        report = check_answer(candidate.answer(judge), Settings(candidate.backend, seed=seed), worker=worker)
        failed = [c for c in report.cases if c.status in ("fail", "error")]
        if not report.passed:
            return {"killed": f"{judge}: {next((c.name for c in failed if not c.bonus), report.summary)}"}
        noted += [note for note in report.notes if note not in notes(judge, candidate.backend)]
        lost += [f"{judge}: {c.name}" for c in failed]
    if noted:
        return {"noted": noted[0]}
    return {"distinction": lost[0]} if lost else {}


@functools.cache
def notes(exercise: str, backend: str) -> tuple[str, ...]:
    """What the report on our answer remarks."""
    return check_answer(answer(exercise, backend), Settings(backend, compiler=False)).notes


class Found:
    """What a seed has found so far, in a file: a line for each mutant."""

    def __init__(self, seed: int):
        self.path = FOUND / f"{seed}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.rows = {row["id"]: row for row in map(json.loads, lines)}

    def add(self, candidate: Candidate, **came: str) -> None:
        row = candidate.row | came
        self.rows[candidate.id] = row
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def run(chosen: list[Candidate], seed: int, jobs: int, again: bool) -> Found:
    """Every candidate that was not judged before, judged."""
    found = Found(seed)
    old = {id for id, row in found.rows.items() if not again or "killed" in row}
    left = [one for one in chosen if one.id not in old]
    passed = []
    running: dict[int, tuple[Candidate, int]] = {}
    bar = Bar(len(left))
    for candidate in [*left, *[None] * jobs]:
        if running and (candidate is None or len(running) == jobs):
            child, status = os.wait()
            one, pipe = running.pop(child)
            case = ended(status, pipe)
            if case or read("equivalent", one.row):
                found.add(one, **({"killed": case} if case else {}))
            else:
                passed.append(one)
            bar.step(f"{len(passed)} to be read")
        if candidate:
            child, pipe = start(candidate, seed)
            running[child] = candidate, pipe
    bar = Bar(len(passed))
    with Worker() as worker:
        for one in passed:
            found.add(one, **checked(one, seed, worker))
            bar.step("checked as a learner's answer is")
    return found


class Bar:
    """How far it is, on one line of the terminal."""

    def __init__(self, total: int):
        self.total, self.done, self.began = total, 0, time.monotonic()

    def step(self, words: str) -> None:
        self.done += 1
        left = (time.monotonic() - self.began) / self.done * (self.total - self.done)
        end = "\n" if self.done == self.total else ""
        print(f"\r{self.done} of {self.total}, {words}, {left / 60:.0f} min left   ", end=end, file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="of the sample and of the inputs")
    parser.add_argument("--count", type=int, default=COUNT, help="mutants a seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--again", action="store_true", help="those that passed are checked again")
    parser.add_argument("--page", action="store_true", help="writes benchmarks/mutants.md")
    args = parser.parse_args()
    rows = {}
    for seed in args.seed:
        chosen = sample(seed, args.count)
        found = run(chosen, seed, args.jobs, args.again)
        rows[seed] = [found.rows[one.id] for one in chosen]
    text = page(rows)
    if args.page:
        (HERE / "mutants.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
