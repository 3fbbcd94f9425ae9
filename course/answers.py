"""The course's answer beside the learner's own: ``answers.beside("silu_forward", silu_forward, backend="torch")``.

The last rung for somebody who is stuck, and the first for somebody who is done: it needs a try, not a pass. It is there
in notebooks that `make lab` gave (`learner.give`), and off in an assignment that a teacher released with nbgrader.
"""

import importlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from ..autograder import check
from ..autograder.judge import ReportData
from ..autograder.judge.report import phrases
from ..autograder.judge.report.distance import ulp
from .learner import ANSWERS, ROOT, sources
from .regions import Region, find_regions

SHOWN = 4  # cases in which the accuracy differs most
FACTOR = 2.0  # by which it has to differ


@dataclass(frozen=True, repr=False)
class Beside:
    """Two reports on one exercise, and the text of the course's answer."""

    yours: ReportData
    ours: ReportData
    source: str

    def rows(self) -> list[tuple[str, str, str]]:
        """Returns what differs: a label, yours, ours."""
        rows = [("verdict", phrases.verdict(self.yours), phrases.verdict(self.ours))]
        rows += [(f"error, {name}", ulp(a), ulp(b)) for name, a, b in self.errors()]
        pairs = (("bytes moved", _traffic), ("registers", _registers))
        rows += [(label, read(self.yours), read(self.ours)) for label, read in pairs if read(self.ours)]
        return rows

    def errors(self) -> list[tuple[str, float, float]]:
        """The cases whose worst errors differ by more than `FACTOR`, those that differ most first."""
        ours = {case.name: case.worst_ulp for case in self.ours.cases}
        both = [(c.name, c.worst_ulp, ours.get(c.name)) for c in self.yours.cases]
        known = [(name, a, b) for name, a, b in both if a is not None and b is not None]
        ratio = {name: max(a, b) / max(min(a, b), 0.5) if math.isfinite(a) else math.inf for name, a, b in known}
        known.sort(key=lambda row: -ratio[row[0]])
        return [row for row in known if ratio[row[0]] > FACTOR][:SHOWN]

    def __repr__(self) -> str:
        rows = [("", "yours", "ours"), *self.rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*table, "", self.source])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th scope='row'>{escape(label)}</th><td>{escape(yours)}</td><td>{escape(ours)}</td></tr>"
            for label, yours, ours in self.rows()
        )
        head = "<tr><td></td><th scope='col'>yours</th><th scope='col'>ours</th></tr>"
        code = f"<pre tabindex='0' style='white-space: pre; overflow-x: auto'>{escape(self.source)}</pre>"
        return f"<div class='gk-beside'><table>{head}{rows}</table>{code}</div>"


def beside(exercise: str, function: Callable[..., Any], backend: str) -> Beside | None:
    """Checks ``function`` and the course's answer, and shows both. Where there is nothing to show yet it prints why.

    Raises ValueError for an exercise or a backend that there is not.
    """
    region = _region(exercise, backend)
    if not _allowed(exercise):
        print("The course's answers are off here: this is an assignment, or no notebook that `make lab` gave you.")
        return None
    yours = check(exercise, function, backend=backend)
    if phrases.is_stub(yours):
        print(f"Write {exercise} first, however wrong: the course's answer is shown after a try.")
        return None
    module = importlib.import_module(f"graded_kernels.{region.folder}.{region.path.stem}")
    return Beside(yours, check(exercise, getattr(module, exercise), backend=backend), region.source)


def _region(exercise: str, backend: str) -> Region:
    matching = [r for r in find_regions(ROOT).values() if (r.name, r.backend) == (exercise, backend)]
    if not matching:
        raise ValueError(f"the course has no answer to {exercise!r} in {backend!r}; `graded-kernels list` shows all")
    return matching[0]


def _allowed(exercise: str) -> bool:
    """Returns whether a notebook of this folder that asks for the exercise says so."""
    for path in [Path.cwd() / source.name for source in sources(ROOT)]:
        try:
            notebook = json.loads(path.read_text(encoding="utf-8"))
            allowed = notebook["metadata"]["graded_kernels"].get(ANSWERS) is True
            ids = [cell.get("metadata", {}).get("nbgrader", {}).get("grade_id", "") for cell in notebook["cells"]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        if allowed and any(id.rpartition("-")[0] == exercise for id in ids):
            return True
    return False


def _traffic(report: ReportData) -> str:
    return f"{report.traffic['ratio']:.2f} times the bytes" if report.traffic else ""


def _registers(report: ReportData) -> str:
    """The most that a form of any kernel takes, for each target."""
    most: dict[str, int] = {}
    for row in (report.compile or {}).get("targets", ()):
        if row.get("registers") is not None:
            most[row["target"]] = max(row["registers"], most.get(row["target"], 0))
    return ", ".join(f"{registers} ({target})" for target, registers in most.items())
