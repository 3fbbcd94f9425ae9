"""Grades every attack and every honest submission at a level of isolation, and prints who got what: one row each.

    python tests/material/attacks [--level strong|good|weak ...] [--user] [name ...]

--user: as an unprivileged user, which only root can become. Exit status 1 where a row is not as its file says.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.records.record import Witness
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner.call.answer import Answer, Cell
from graded_kernels.autograder.runner.call.examination import Examined
from graded_kernels.autograder.runner.sandbox import Isolated, Limits, Worker, probe
from graded_kernels.autograder.runner.sandbox.probe import LEVELS

from .scene import Scene
from .submissions import ROOT, Submission, attacks, honest

CASES = (
    *("ordinary values", "exact zeros", "odd shape, several blocks", "every second column", "transposed"),
    *("three blocks and a rest", "each row alone"),
)
USER = 65534  # nobody


@dataclass
class Row:
    """One submission on one level. ``wrong`` says what is not as it should be."""

    name: str
    level: str
    user: str
    outcome: str
    message: str
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        mark = "WRONG: " + "; ".join(self.wrong) if self.wrong else "as designed"
        first = f"{self.name:26} {self.level:6} {self.user:6} {self.outcome:8} {self.seconds:5.1f} s"
        return f"{first}  {mark:12} {self.message}"


def grade(submission: Submission, worker: Worker, scene: Scene, cases: tuple[str, ...] = CASES) -> Row:
    """Grades one submission as a teacher would, by some of the cases, and looks at what it did to its surroundings."""
    record = EXERCISES[submission.exercise]
    if not isinstance(record, Witness):
        record = replace(record, cases=tuple(c for c in record.cases if c.name in (*cases, submission.case)))
    source = scene.look_up(scene.fill(submission.source), submission.exercise, cases)
    answer = Answer(submission.exercise, (Cell(submission.name, source),))
    limits = eval(f"Limits({submission.limits or 'seconds=20'})", {"Limits": Limits})
    begin = time.monotonic()
    with Isolated(answer, record.contract, submission.backend, limits=limits, worker=worker) as runner:
        heard = _Listener(runner)
        report = judge(record, heard, Settings(submission.backend))
    seconds = time.monotonic() - begin
    outcome = "full" if report.passed else "less" if report.score else "nothing"
    first = next((c for c in report.cases if c.status not in ("pass", "not-run")), None)
    message = " ".join((first.message if first else report.summary).split())[:110]
    row = Row(submission.name, worker.level, _user(), outcome, message, seconds)
    wanted = submission.wanted(worker.level)
    if outcome != wanted and not (wanted == "less" and outcome == "nothing"):
        row.wrong.append(f"{wanted} expected")
    kind = heard.troubles[0] if heard.troubles else ""
    if submission.trouble and worker.level != "weak" and kind != submission.trouble:
        row.wrong.append(f"{submission.trouble} expected, not {kind or 'no trouble'}")
    if worker.level != "weak":
        row.wrong += scene.harm(heard.printed)
    return row


class _Listener:
    """A runner that passes on, and remembers what was printed and what went wrong."""

    def __init__(self, runner: Isolated):
        self.runner, self.facts, self.printed, self.troubles = runner, runner.facts, "", []

    def examine(self, call):
        return _Heard(self._heard, call, self.runner.examine(call))

    def _heard(self, outcome):
        self.printed += self.runner.printed
        if outcome.trouble:
            self.troubles.append(outcome.trouble.kind)
        return outcome


def run(level: str, names: list[str], say=lambda row: None) -> list[Row]:
    """All submissions (or those named) on one level, in this process as the user it has."""
    rows = []
    with Scene() as scene:
        with Worker(level) as worker:
            for submission in (attacks() | honest()).values():
                if names and submission.name not in names:
                    continue
                if not submission.wanted(level):
                    why = submission.weak.partition(": ")[2]
                    row = Row(submission.name, level, _user(), "not run", why)
                else:
                    row = grade(submission, worker, scene)
                rows.append(row)
                say(row)
        left = scene.left_behind()
        if left:
            rows.append(Row("(afterwards)", level, _user(), "", "", wrong=left))
            say(rows[-1])
    return rows


def run_as_user(level: str, names: list[str]) -> list[Row] | str:
    """The same in a process of an unprivileged user; a sentence where that cannot be had."""
    command = user_command(["--level", level, "--rows", *names])
    if isinstance(command, str):
        return command
    ran = subprocess.run(command, capture_output=True, text=True, cwd="/", user=USER, group=USER, extra_groups=[])
    try:
        return [Row(**row) for row in json.loads(ran.stdout)]
    except ValueError:
        return f"not run as a user: {(ran.stderr.strip().splitlines() or ['no reason'])[-1]}"


def user_command(arguments: list[str]) -> list[str] | str:
    """How an unprivileged user would run this module, or why not: it needs a Python that everybody may read."""
    if os.getuid() != 0:
        return "not run: only root can become another user"
    import torch

    libraries = str(Path(torch.__file__).parents[1])
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        start = (
            "import sys, types; package = sys.modules['graded_kernels'] = types.ModuleType('graded_kernels');"
            "package.__path__ = [sys.argv.pop(1)]; sys.path[:0] = sys.argv.pop(1).split(':');"
            "from attacks import table; sys.exit(table.main(sys.argv[1:]))"
        )
        command = [python, "-B", "-c", start, str(ROOT), f"{ROOT / 'tests' / 'material'}:{libraries}"]
        try:
            tried = subprocess.run(
                [python, "-c", "import encodings, ctypes"], cwd="/", user=USER, group=USER, extra_groups=[]
            )
        except OSError:
            continue
        if tried.returncode == 0:
            return command + arguments
    return "not run: no Python that an unprivileged user may read"


def _user() -> str:
    return "root" if os.getuid() == 0 else "user"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="attacks", description=__doc__.splitlines()[0])
    parser.add_argument("--level", choices=LEVELS, action="append", help="this level only; may be given again")
    parser.add_argument("--user", action="store_true", help="as an unprivileged user, too")
    parser.add_argument("--rows", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("name", nargs="*")
    options = parser.parse_args(arguments)
    best = probe().level
    if best is None:
        print(probe())
        return 1
    levels = options.level or [r for r in reversed(LEVELS) if LEVELS.index(r) <= LEVELS.index(best)]
    rows = []
    for level in levels:
        rows += run(level, options.name, say=(lambda row: None) if options.rows else print)
        if options.user:
            found = run_as_user(level, options.name)
            if isinstance(found, str):
                print(f"{level}: {found}")
                continue
            rows += found
            print(*found, sep="\n")
    if options.rows:
        print(json.dumps([asdict(row) for row in rows]))
        return 0
    wrong = [row for row in rows if row.wrong]
    ran = sum(row.outcome != "not run" for row in rows)
    print(f"{ran} graded, {len(rows) - ran} not run, {len(wrong)} not as designed")
    return 1 if wrong else 0


class _Heard(Examined):
    """What was examined, each outcome of it heard."""

    def __init__(self, heard, call, examined):
        super().__init__(call, heard(examined.first))
        self._hears, self._examined = heard, examined

    @property
    def proven(self):
        return self._hears(self._examined.proven)

    @property
    def histories(self):
        return self._examined.histories

    def parting(self, *where):
        return self._examined.parting(*where)

    def refilled(self, fill):
        return self._hears(self._examined.refilled(fill))

    def _second(self, fill):
        return self._hears(self._examined.again)

    def _repeated(self):
        return self._hears(self._examined.in_order)
