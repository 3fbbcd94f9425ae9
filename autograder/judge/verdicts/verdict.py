"""Says what a check found, as a value that is written, read and shown without the check."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..results.scoring import COSTS, Points, points_of

LATE, LOST = "time limit", "lost worker"
_DOUBTS = {LATE: "A time limit ended this check.", LOST: "The process that runs answers ended during this check."}
DEATHS = 3  # workers that a check may end before it is left to a person
SETTLED = 2  # checks of an answer whose result may be the machine's fault, after which the last one counts


class Damaged(ValueError):
    """Text that is not a verdict."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on one job.

    name: ``silu_backward-torch``. report: `ReportData.to_dict`, without how long the compiler took; text and
    html: the same for a terminal and for a page. seconds: of processor time, of the processes that call the answer or
    compile its kernels; grader_seconds: of the grader's, and of those that fork the others. clock: seconds of
    wall-clock time. made: when, ISO 8601 in UTC, and where: ``host:process``.
    checks: how many times the answer was checked for this verdict. doubt: ``time limit`` or ``lost worker`` where that
    decided it, which a busy machine can do as well as the answer; else "". left: why a person has to judge instead;
    "" where this is a verdict.
    """

    key: str
    name: str
    report: dict[str, Any] | None = None
    text: str = ""
    html: str = ""
    seconds: float = 0.0
    grader_seconds: float = 0.0
    clock: float = 0.0
    made: str = ""
    where: str = ""
    checks: int = 1
    doubt: str = ""
    left: str = ""

    @classmethod
    def left_to_a_person(cls, key: str, name: str) -> "Verdict":
        """That of a job whose check ended every worker that tried."""
        return cls(key, name, left=f"its check ended {DEATHS} of the processes that check answers")

    @property
    def final(self) -> bool:
        """Returns whether it counts: nothing but the answer decided it, or a second check came to the same end."""
        return not self.doubt or self.checks >= SETTLED

    @property
    def doubted(self) -> str:
        """The doubt as a sentence; "" where there is none."""
        return _DOUBTS[self.doubt] if self.doubt else ""

    def report_with(self, points: Points) -> dict[str, Any]:
        """The report with these points in it."""
        return (self.report or {}) | {"score": points.score, "costs": [asdict(line) for line in points.costs]}

    def points(self, costs: Mapping[str, float] = COSTS) -> Points:
        """Returns what the answer is worth. costs: `results.scoring.COSTS`, or a teacher's own. Raises Damaged where
        the report has not all that points follow from.
        """
        try:
            return points_of(self.report, costs) if self.report else Points(0.0)
        except KeyError as missing:
            message = f"the report on {self.name} has no {missing}, as one of another version: check the answer again"
            raise Damaged(message) from None

    def cost_lines(self, points: Points) -> str:
        """A line for each of these costs, as HTML."""
        from ..report import notebook, phrases

        return notebook.cost_lines(phrases.cost_lines(points.costs))

    @property
    def stopped_in(self) -> dict[str, Any] | None:
        """``{"cell", "reason"}`` where a cell's own statements ended the check (`ReportData`)."""
        return (self.report or {}).get("stopped_in")

    def to_json(self) -> str:
        return json.dumps({field.name: getattr(self, field.name) for field in fields(self)}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Verdict":
        """Raises Damaged."""
        try:
            return cls.of(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise Damaged(str(error)) from None

    @classmethod
    def of(cls, data: dict[str, Any]) -> "Verdict":
        """The verdict that these fields make. Raises Damaged."""
        try:
            verdict = cls(**data)
        except TypeError as error:
            raise Damaged(str(error)) from None
        for field in fields(cls):
            value = data.get(field.name, field.default)
            if field.name == "report":
                good = isinstance(value, dict | None)
            elif isinstance(field.default, float):
                good = isinstance(value, float | int) and math.isfinite(value)
            else:
                good = isinstance(value, int if field.name == "checks" else str)
            if not good:
                raise Damaged(f"{field.name} is {value!r:.60}")
        return verdict
