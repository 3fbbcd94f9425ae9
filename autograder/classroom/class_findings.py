"""Says what a class did in an assignment, as data: from its graded notebooks, their verdicts and the gradebook."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory

from ..judge import Store
from .appeals import Appeal, AppealReader, appeal
from .nbgrader.export import rows_of
from .nbgrader.pages import REPORT
from .nbgrader.rebuild import MOVED, NOT_GRADED, RECORD, grade_id

PASSED, FAILED, UNREACHED = "pass", "fail", "not-run"
STUB = "stub"  # `ReportData.stopped` of an answer that is as it was handed out


@dataclass(frozen=True)
class Learner:
    """One student. status: as `nbgrader.export` has it; so_far: the points given, None where nothing is graded; score:
    the same less a penalty, None unless all is graded; late: begun days; feedback: the pages, by notebook.
    """

    id: str
    name: str
    status: str
    so_far: float | None
    score: float | None
    most: float
    late: int = 0
    feedback: dict[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class LearnerCheck:
    """One check of a learner's. answer: ``silu_backward-torch``; report: `ReportData.to_dict`."""

    student: str
    answer: str
    report: dict[str, Any]
    seconds: float

    @property
    def untouched(self) -> bool:
        """Returns whether the stub was handed in."""
        return self.report.get("stopped") == STUB


@dataclass
class CaseCounts:
    """One case of an exercise over a class, by how many it was passed, failed and not reached. bonus: whether it is a
    distinction.
    """

    name: str
    inputs: str
    bonus: bool = False
    counts: Counter[str] = field(default_factory=Counter[str])


@dataclass(frozen=True)
class ExerciseFindings:
    """An exercise and backend over a class."""

    name: str
    checks: tuple[LearnerCheck, ...]

    @property
    def passed(self) -> int:
        """Returns how many passed."""
        return sum(check.report["passed"] for check in self.checks)

    @property
    def untouched(self) -> int:
        """Returns how many handed in the stub."""
        return sum(check.untouched for check in self.checks)

    @property
    def mean(self) -> float:
        """The mean of the scores, 0 to 1."""
        return float(sum(check.report["score"] for check in self.checks) / len(self.checks))

    @property
    def seconds(self) -> float:
        """The processor time of all checks together."""
        return sum(check.seconds for check in self.checks)

    @cached_property
    def bugs(self) -> list[tuple[str, list[str]]]:
        """The bugs and common mistakes that answers repeat, each with who wrote it, the most frequent first."""
        students = defaultdict(list)
        for check in self.checks:
            if name := check.report["fingerprint"] or check.report.get("mistake"):
                students[name].append(check.student)
        return sorted(students.items(), key=lambda item: -len(item[1]))

    @cached_property
    def cases(self) -> list[CaseCounts]:
        """The cases in the exercise's order, counted over the answers that were begun: a stub says nothing. A case
        that a report lacks, such as the compiler's after another failed, was not reached.
        """
        counts: dict[str, CaseCounts] = {}
        begun = [check.report["cases"] for check in self.checks if not check.untouched]
        for cases in begun:
            for result in cases:
                case = counts.setdefault(result["name"], CaseCounts(result["name"], result["inputs"], result["bonus"]))
                case.inputs = case.inputs or result["inputs"]
                case.counts[FAILED if result["status"] == "error" else result["status"]] += 1
        for case in counts.values():
            case.counts[UNREACHED] += len(begun) - sum(case.counts.values())
        return list(counts.values())


@dataclass(frozen=True)
class Moved:
    """An answer whose text is the same and whose automatic points are not. since: what changed. why: what limits the
    points now.
    """

    student: str
    answer: str
    before: float
    now: float
    since: str
    why: str


@dataclass(frozen=True)
class Findings:
    """Holds what was found in a class's assignment. unchecked: (student, answer) for each answer that waits for a
    person. moved: by the last regrade. appeals: those that wait first.
    """

    assignment: str
    learners: tuple[Learner, ...]
    answers: tuple[ExerciseFindings, ...]
    unchecked: tuple[tuple[str, str], ...]
    moved: tuple[Moved, ...] = ()
    appeals: tuple[Appeal, ...] = ()


def findings(courses: CourseDirectory, assignment: str, rows: list[dict[str, Any]]) -> Findings:
    """rows: `rows_of` the course."""
    store = Store(Path(courses.root))
    order: dict[str, list[LearnerCheck]] = {}
    seconds: dict[str, float] = defaultdict(float)
    for entry in store.made():
        seconds[entry["key"]] += entry["seconds"]
    unchecked, moved, counted = [], [], set()
    reader, asked = AppealReader(courses, assignment), list[tuple[tuple[str, str, str], str, str]]()
    rows = [row for row in rows if row["assignment"] == assignment]
    for row in rows:
        for path in _files(courses, "autograded", row["student_id"], assignment, "*.ipynb"):
            notebook, place = nbformat.read(path, as_version=4), (path.stem, assignment, row["student_id"])
            reasons = reader.reasons(row["student_id"], path.stem, notebook)
            asked += [(place, answer, reason) for answer, reason in reasons.items()]
            for cell in notebook.cells:
                record, answer = cell.metadata.get(RECORD, {}), grade_id(cell).removesuffix("-check")
                report = next((o.data[REPORT] for o in cell.get("outputs", ()) if REPORT in o.get("data", {})), None)
                if NOT_GRADED in record:
                    unchecked.append((row["student_id"], answer))
                if MOVED in record:
                    (before, now, since), details = record[MOVED], report or {}
                    why = _costs(details.get("costs", ())) or details.get("summary", "")
                    moved.append(Moved(row["student_id"], answer, before, now, since, why))
                if report is not None:
                    key = record.get("verdict", "")
                    took = 0.0 if key in counted else seconds[key]  # a verdict that many share was made once
                    counted.add(key)
                    order.setdefault(answer, []).append(LearnerCheck(row["student_id"], answer, report, took))
    answers = tuple(ExerciseFindings(name, tuple(checks)) for name, checks in order.items())
    learners = tuple(_learner(courses, row) for row in rows)
    with Gradebook(courses.db_url) as gradebook:
        appeals = sorted((appeal(gradebook, *question) for question in asked), key=lambda appeal: bool(appeal.decision))
    return Findings(assignment, learners, answers, tuple(unchecked), tuple(moved), tuple(appeals))


def _costs(costs: Sequence[Mapping[str, Any]]) -> str:
    """Returns what failures cost in a stored report: ``plain 30, point 25``."""
    return ", ".join(f"{line['name']} {round(line['points'], 1):g}" for line in costs if line["points"])


def _learner(courses: CourseDirectory, row: dict[str, Any]) -> Learner:
    pages = _files(courses, "feedback", row["student_id"], row["assignment"], "*.html")
    name = " ".join(filter(None, (row["first_name"], row["last_name"])))
    feedback = {path.stem: path for path in pages}
    points = row.get("raw_score"), row.get("score"), row["max_score"]
    return Learner(row["student_id"], name, row["status"], *points, row.get("late_days") or 0, feedback)


def _files(courses: CourseDirectory, step: str, student: str, assignment: str, pattern: str) -> list[Path]:
    folder = courses.format_path(getattr(courses, f"{step}_directory"), student, assignment)
    return sorted(Path(courses.root, folder).glob(pattern))


def rows(courses: CourseDirectory) -> list[dict[str, Any]]:
    """The rows of the table of grades (`export.rows_of`), of the whole course."""
    with Gradebook(courses.db_url) as gradebook:
        return list(rows_of(gradebook, courses))
