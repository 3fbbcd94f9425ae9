"""Says how far a learner is: read from the reports that checks left in the outputs of their notebooks, as data."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ...autograder.judge import ReportData

State = Literal["passed", "tried", "open"]
Report = dict[str, Any]  # `ReportData.to_dict`
BLANK = "YOUR ANSWER HERE"  # nbgrader's stub of a written answer
HOURS = re.compile(r"^\*Estimated: (.+)\.\*$")  # the line below a chapter's title


@dataclass(frozen=True)
class Step:
    """One exercise in one backend. missing: the names of the distinctions that its last report did not have. optional:
    whether it is worth no points.
    """

    exercise: str
    backend: str
    state: State = "open"
    score: float = 0.0
    distinctions: int = 0
    missing: tuple[str, ...] = ()
    optional: bool = False

    @property
    def name(self) -> str:
        """``silu_forward (PyTorch)``"""
        return f"{self.exercise} ({'PyTorch' if self.backend == 'torch' else 'Triton'})"


@dataclass(frozen=True)
class Chapter:
    """One chapter. begun: whether the learner has a notebook of it. questions: written answers, and whether written.
    hours: how long it takes, in words, or "" where it does not say.
    """

    name: str
    title: str
    begun: bool
    steps: tuple[Step, ...]
    questions: tuple[tuple[str, bool], ...] = ()
    hours: str = ""

    @property
    def required(self) -> list[Step]:
        """The steps that are not optional."""
        return [step for step in self.steps if not step.optional]

    @property
    def passed(self) -> int:
        """Returns how many of the required steps are passed."""
        return sum(step.state == "passed" for step in self.required)

    @property
    def done(self) -> bool:
        """Returns whether every required step is passed and every question has an answer."""
        return not self.left and all(written for _, written in self.questions)

    @property
    def left(self) -> list[Step]:
        """The required steps that are not passed yet."""
        return [step for step in self.required if step.state != "passed"]

    @property
    def distinctions(self) -> tuple[int, int]:
        """Earned, of those that the reports so far have tried."""
        earned = sum(step.distinctions for step in self.steps)
        return earned, earned + sum(len(step.missing) for step in self.steps)


def read_progress(folder: Path, sources: Iterable[Path] = (), now: Iterable[dict[str, Any]] = ()) -> list[Chapter]:
    """Every chapter, in order.

    folder: the learner's notebooks. sources: the chapters as built, which tell of those that the folder lacks.
    now: reports (`ReportData.to_dict`) that are newer than the files, of a kernel that runs.
    """
    built = {path.stem: path for path in sources}
    newer = {(report["exercise"], report["backend"]): report for report in now}
    chapters = []
    copies = {path.stem: path for path in folder.glob("*.ipynb")}
    for name in sorted(built.keys() | copies.keys()):
        notebook = _read(copies[name]) if name in copies else {}
        begun = _metadata(notebook).get("graded_kernels", {}).get("chapter") == name
        if not begun and name not in built:
            continue  # a notebook of the learner's own, not a chapter
        chapters.append(_chapter(name, notebook if begun else _read(built[name]), begun, newer))
    return [chapter for chapter in chapters if chapter.steps or chapter.name in built]  # the start page is neither


def read_reports(folder: Path, now: Iterable[Report] = ()) -> dict[tuple[str, str], Report]:
    """The last report on each exercise and backend, by these, that the notebooks of a folder hold, or ``now`` does."""
    latest: dict[tuple[str, str], Report] = {}
    for path in sorted(folder.glob("*.ipynb")):
        reports = (_report(cell) for cell in _read(path).get("cells", []))
        latest |= {(report["exercise"], report["backend"]): report for report in reports if report}
    return latest | {(report["exercise"], report["backend"]): report for report in now}


def is_chapter(path: Path) -> bool:
    """Returns whether a file is a learner's notebook of a chapter of its name."""
    return bool(_metadata(_read(path)).get("graded_kernels", {}).get("chapter") == path.stem)


def _read(path: Path) -> dict[str, Any]:
    """A notebook as JSON; an empty one where the file cannot be read."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return notebook if isinstance(notebook, dict) else {}


def _metadata(notebook: dict[str, Any]) -> dict[str, Any]:
    metadata = notebook.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _chapter(name: str, notebook: dict[str, Any], begun: bool, newer: dict[tuple[str, str], Report]) -> Chapter:
    steps: dict[tuple[str, str], Step] = {}
    questions: dict[str, bool] = {}
    title = hours = ""
    for cell in notebook.get("cells", []):
        source = "".join(cell.get("source", ""))
        if not title and cell.get("cell_type") == "markdown" and source.startswith("# "):
            title = source.split("\n")[0].removeprefix("# ")
            hours = next((line[1] for line in map(HOURS.match, source.split("\n")) if line), "")
        known = cell.get("metadata", {}).get("nbgrader", {})
        id, grade = known.get("grade_id", ""), known.get("grade")
        if grade and known.get("solution"):
            questions.setdefault(id, begun and source.strip() != BLANK)
        elif grade and id.endswith("-check"):
            exercise, _, backend = id.removesuffix("-check").rpartition("-")
            report = newer.get((exercise, backend)) or _report(cell)
            step = replace(_step(exercise, backend, report), optional=known.get("points") == 0)
            steps.setdefault((exercise, backend), step)
    number = name.partition("_")[0]
    title = f"{number} {title}" if title and number[:1].isdigit() else title or name
    return Chapter(name, title, begun, tuple(steps.values()), tuple(questions.items()), hours)


def _report(cell: dict[str, Any]) -> dict[str, Any] | None:
    for output in reversed(cell.get("outputs", [])):
        report = output.get("data", {}).get(ReportData.MIME)
        if isinstance(report, dict):
            return report
    return None


def _step(exercise: str, backend: str, report: dict[str, Any] | None) -> Step:
    if report is None or report.get("stopped") == "stub":
        return Step(exercise, backend)
    bonus = [case for case in report.get("cases", []) if case.get("bonus")]
    missing = tuple(str(case["name"]) for case in bonus if case.get("status") != "pass")
    state: State = "passed" if report.get("passed") is True else "tried"
    return Step(exercise, backend, state, float(report.get("score", 0.0)), len(bonus) - len(missing), missing)
