"""A report in words, for the terminal and the notebook alike. Plain text, nothing escaped."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...words import Quality, count, visible
from ..records.category import Flaw
from ..results.case_result import CaseResult
from ..results.causes import Cause
from ..results.data import ReportData
from ..results.scoring import Cost
from .measured import Measured
from .worst_element import WorstElement

STUB = "stub"  # `ReportData.stopped` of an answer that nobody wrote
OF_ERRORS = ("text", "error")  # `CaseResult.form` of the right refusal by another error
DISTINCTION = "distinction: "  # the prefix of a name, which a heading above all distinctions says already


@dataclass(frozen=True)
class CaseText:
    """Holds a case in words, for a list of one line each. name: with the prefix of a distinction; title: without.
    status: of a distinction ``has`` or ``has not``. message: one sentence. mark: the status of a page's list item, in
    which no distinction fails.
    """

    name: str
    title: str
    status: str
    message: str
    mark: str

    @classmethod
    def of(cls, case: CaseResult) -> "CaseText":
        """The words for this case."""
        has = case.status == "pass"
        status = ("has" if has else "has not") if case.bonus else case.status
        title = case.name.removeprefix(DISTINCTION) if case.bonus else case.name
        return cls(case.name, title, status, message_of(case), case.status if has or not case.bonus else "bonus")


@dataclass(frozen=True)
class FailureText:
    """Holds a failing case in full, in words. details: the lines of its traceback. whole_answer: whether it is about
    the answer (refused, not Python) and not about inputs of its own. worst: None where no element was compared. choice:
    what it rests on that mathematics leaves open. repeat: lines of Python that call the answer again.
    """

    name: str
    message: str
    details: tuple[str, ...]
    whole_answer: bool
    inputs: str
    worst: WorstElement | None
    choice: str
    hint: str
    repeat: str


@dataclass(frozen=True)
class CauseText:
    """Holds a cause of failure in words. label: what the answer is not. message: one sentence on all its cases, or the
    message of the only one. first: its first case in full.
    """

    label: str
    message: str
    cases: tuple[CaseText, ...]
    first: FailureText

    @property
    def all_cases(self) -> str:
        """``12 cases: ordinary values; one row ...``, or the name of the only one; some names have a comma."""
        names = "; ".join(case.name for case in self.cases)
        return f"{count(len(self.cases), 'case')}: {names}" if len(self.cases) > 1 else names

    @property
    def later_cases(self) -> str:
        """The names of its cases but for the first, or ""."""
        return "; ".join(case.name for case in self.cases[1:])


@dataclass(frozen=True)
class ReportText:
    """Holds all that a report says, in words. A page lays it out, and asks the report nothing more.

    state: ``stub``, ``pass`` or ``fail``. unwritten: the one sentence on a stub. verdict: a few words. answers: each
    quality that was judged, and ``yes`` or ``no``; empty where all that is asked for was found. summary: one sentence
    on a failure without a cause. causes: those that cost points; optional: those of qualities that were not asked for.
    compared: whether it is about a comparison, which no other page describes. source, story: the bug behind the wrong
    values, and what it did. score: in percent; costs: a row for each cost, empty where no points are shown. passed: the
    cases that passed, without distinctions; how_many: of them, in a sentence. distinctions: those that were tried;
    earned: how many of them were, in a sentence. remarks: sentences on tolerance and comparison. not_run: a sentence
    for each reason why cases did not run. neighbours: a text of several lines on what a row depends on, or "".
    """

    exercise: str
    backend: str
    state: str
    unwritten: str
    verdict: str
    answers: tuple[tuple[str, str], ...]
    summary: str
    causes: tuple[CauseText, ...]
    optional: tuple[CauseText, ...]
    compared: bool
    source: str
    story: str
    score: str
    costs: tuple[tuple[str, str, str], ...]
    passed: tuple[CaseText, ...]
    how_many: str
    distinctions: tuple[CaseText, ...]
    earned: str
    measured: Measured
    remarks: tuple[str, ...]
    not_run: tuple[str, ...]
    neighbours: str

    @classmethod
    def of(cls, report: ReportData, option: str, points: bool = True) -> "ReportText":
        """The words for this report. option: by which a user takes PyTorch's own answer for right as well, as `code`.
        points: whether it says how many the answer is worth.
        """
        required, optional = by_requirement(report)
        passed = [case for case in report.cases if case.passes]
        tried = [case for case in report.cases if case.bonus and case.status != "not-run"]
        earned = sum(case.status == "pass" for case in tried)
        return cls(
            exercise=report.exercise,
            backend=report.backend,
            state="stub" if is_stub(report) else "pass" if report.passed else "fail",
            unwritten=f"There is nothing to check until the body of {report.exercise} is written.",
            verdict=verdict(report, points),
            answers=() if report.passed and not optional else answers(report),
            summary="" if required or report.passed else report.summary,
            causes=tuple(_cause(report, cause, option) for cause in required),
            optional=tuple(_cause(report, cause, option) for cause in optional),
            compared=bool(report.computes),
            source=sentence(report.source) if report.source else "",
            story=report.fingerprint_story,
            score=percent(report.score),
            costs=cost_lines(report.costs) if points and not report.passed else (),
            passed=tuple(map(CaseText.of, passed)),
            how_many=_how_many(report.cases),
            distinctions=tuple(map(CaseText.of, tried)),
            earned=f"Extra, not needed: {earned} of {len(tried)}." if tried else "",
            measured=Measured.of(report),
            remarks=tuple(filter(None, (*report.remarks, report.tolerance))),
            not_run=not_run(report),
            neighbours="" if report.neighbours is None else str(report.neighbours),
        )


def _how_many(cases: Sequence[CaseResult]) -> str:
    """A sentence on how many cases passed; where none did, on those that fail for their form or side effects alone,
    since their values earn points. A case that asks for an error has none; what a hidden case fails for is not said.
    """
    passed = sum(case.passes for case in cases)
    if passed:
        return f"{count(passed, 'case')} passed."
    failing = [case for case in cases if case.fails and not case.hidden and case.form not in OF_ERRORS]
    right = sum(case.flaw in (Flaw.FORM, Flaw.EFFECT) for case in failing)
    return f"No case passed, but the values of {count(right, 'case')} are right." if right else "No case passed."


def is_stub(report: ReportData) -> bool:
    """Returns whether the answer is still the stub that was handed out."""
    return report.stopped == STUB


def _cause(report: ReportData, cause: Cause, option: str) -> CauseText:
    cases = tuple(map(CaseText.of, cause.cases))
    message = cases[0].message if len(cases) == 1 else cause.message
    return CauseText(label(cause), message, cases, _failure(report, cause.cases[0], option))


def _failure(report: ReportData, case: CaseResult, option: str) -> FailureText:
    return FailureText(
        name=case.name,
        message=case.message,
        details=details(case),
        whole_answer=bool(report.stopped) and case.code == report.stopped,
        inputs=case.inputs,
        worst=WorstElement.of(case.failure) if case.failure else None,
        choice=convention(case, option),
        hint=case.hint,
        repeat=case.repeat,
    )


def verdict(report: ReportData, points: bool = True) -> str:
    """The verdict in a few words: ``not passed, 50 % of the points``. points: whether it says how many; none are lost
    where only what an error says is wrong.
    """
    if is_stub(report):
        return report.summary
    text = "passed" if report.passed else "not passed"
    if points and not report.passed and not report.remarks:  # those of a comparison, which has no points
        text += "; no points lost" if report.score == 1 else f", {percent(report.score)} of the points"
    return text if len(report.required) == len(Quality) else f"{text} (required: {' and '.join(report.required)})"


def answers(report: ReportData) -> tuple[tuple[str, str], ...]:
    """Each quality that was judged, and ``yes`` or ``no``. What a wrong answer costs is of no interest."""
    judged = {quality: getattr(report, quality) for quality in Quality}
    if judged[Quality.CORRECT] is False:
        judged[Quality.EFFICIENT] = None
    return tuple((quality.value, "yes" if value else "no") for quality, value in judged.items() if value is not None)


def percent(score: float) -> str:
    """The score in percent, rounded down, so that 100 % means every point."""
    return f"{math.floor(100 * score + 1e-9)} %"


def sentence(text: str) -> str:
    """The text with a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


NAMES = {  # of what costs points (`scoring.COSTS`)
    "plain": "plain values",
    "effects": "side effects",
    "layouts": "layouts, memory",
    "dtypes": "dtypes",
    "edges": "edges, errors",
    "point": "the point",
    "text": "text of an error",
    "dtype": "form: dtype",
    "finished": "form: PyTorch",
    "error": "form: error",
    "shape": "form: shape",
    "exchanged": "form: exchanged",
}


def cost_lines(costs: Iterable[Cost]) -> tuple[tuple[str, str, str], ...]:
    """A row for each cost: its name, ``-25``, and the first case that shows it, with why."""
    return tuple((NAMES.get(line.name, line.name), _points(-line.points), _why(line)) for line in costs)


def _points(points: float) -> str:
    return f"{round(points, 1) + 0:g}"  # 0, not -0


def _why(line: Cost) -> str:
    message = brief(line.message)
    if message and not message.endswith("."):
        message += "."
    return " ".join(filter(None, (f"{line.case}:", message, line.note)))


def by_requirement(report: ReportData) -> tuple[list[Cause], list[Cause]]:
    """The causes that cost points, and those of qualities that were not asked for; an instructor's cases first among
    all but the first: where there are many, the later ones are shown by name only.
    """
    causes = report.causes
    required = [cause for cause in causes if cause.kind is None or cause.kind in report.required]
    later = sorted(required[1:], key=lambda cause: not cause.cases[0].hidden)
    return required[:1] + later, [cause for cause in causes if cause not in required]


def label(cause: Cause) -> str:
    """Returns what the answer is not: ``not correct``; or ``refused`` or ``no result``, where it was not judged."""
    if cause.kind:
        return f"not {cause.kind}"
    return "refused" if cause.cases[0].status == "fail" else "no result"


CONVENTIONS = {
    "infinity": "what an input of infinity gives",
    "no token": "what the mean of no token is",
    "bad label": "what happens to a label that names no class",
    "empty row": "what a row of nothing gives",
}


def convention(case: CaseResult, option: str) -> str:
    """The choice that a case rests on and mathematics leaves open; "" where there is none. option: by which PyTorch's
    own answer is taken for right as well.
    """
    missing = case.failure is not None and any(value != value for value in case.failure.inputs.values())  # NaN
    if not case.convention or (case.convention == "infinity" and missing):
        return ""
    return f"a choice: {CONVENTIONS[case.convention]}. {option} takes PyTorch's own answer for right as well."


def brief(message: str) -> str:
    """The first sentence, shortened if need be: only the first failing case is shown in full. Code that is cut ends."""
    text = textwrap.shorten(message.split(". ")[0], 100, placeholder=" ...")
    return text.removesuffix(" ...") + "` ..." if text.count("`") % 2 else text


def message_of(case: CaseResult) -> str:
    """The text for a case in a list of one line each; for a hidden case that failed everything that may be shown."""
    if case.hidden and case.status in ("fail", "error"):
        return " ".join(filter(None, (case.message, f"Its kind: {case.inputs}.", case.hint)))
    return brief(case.message)


def details(case: CaseResult) -> tuple[str, ...]:
    """The lines of the traceback, without a last one that only repeats the message."""
    lines = visible(case.details).rstrip().splitlines()
    repeated = bool(lines) and (lines[-1].endswith(visible(case.message)) or case.message.endswith(lines[-1]))
    return tuple(lines[:-1] if repeated else lines)


def not_run(report: ReportData) -> tuple[str, ...]:
    """``Not run (float32 edges): there is no GPU.``, a sentence for each reason, with the names where they are few."""
    reasons: dict[str, list[str]] = {}
    for case in report.cases:
        if case.status == "not-run":
            reasons.setdefault(case.message, []).append(CaseText.of(case).title)
    if report.compile and report.compile["status"] == "not-run":
        reasons.setdefault(report.compile.get("reason", ""), ["compiler report"])
    return tuple(_left_out(names, reason) for reason, names in reasons.items())


def _left_out(names: list[str], reason: str) -> str:
    what = ", ".join(names) if len(names) <= 3 else count(len(names), "case")
    return f"Not run ({what}): {reason}" if reason else f"Not run: {what}"
