"""How many points a report is worth, and what cost them: from its data alone, so that other weights check nothing
again. Points go to aims, not to cases. Each sum below grows with the cases that fail and with nothing else, so that a
better answer never gets less.

- *Plain values* lose `ANY` of their weight where a plain case fails or ordinary numbers come out wrong anywhere, and
  the rest by the share of plain cases that fail; *the point* the share of its cases. What these two lose for wrong
  values is not charged again in dtypes, layouts and edges, which rest on them, beyond the share of plain cases that are
  grossly wrong.
- *Dtypes, layouts and edges* lose all where a case of theirs fails; what goes wrong with NaN, infinity, nothing and bad
  input has one remedy, and counts once.
- *Conduct* that a right result does not excuse costs the plain values, once.
- *Form* is charged once, `FORMS`: values are judged after it is converted.
- At most half is left where the whole point is missed, where a bug that shipped does no worse in its case, and where
  more than a third of the plain cases is grossly wrong. Nothing is left where the first one is; where some of its
  outputs are, `OUTPUTS` times the share of the others.
- What is right up to a factor or its graph, or wrong in the same outputs everywhere or with one word, has a limit
  instead of these costs, where that leaves more (`excuses`).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..records.aim import Aim, Flaw
from .excuses import OUTPUTS, VALUES, CaseFields, Excuse, excuses

FORMS: Mapping[str, float] = {  # points of 100
    "returned": 10,
    "dtype": 15,
    "number": 15,
    "finished": 15,
    "error": 20,
    "shape": 25,
    "exchanged": 60,
}
ANY = 0.4
HALF = 50.0
MANY = 1 / 3  # of the plain cases, grossly wrong
TEXT = 0.2  # of a case that raises the right error with a wrong text
LEAST = 0.05  # for plain values that are nearly right, whatever else fails
_RESTING = (Aim.EDGES, Aim.DTYPES, Aim.LAYOUTS)
_SPOILS = (Flaw.CONDUCT, Flaw.CONVERTED)
MISSED = "The point of the exercise is missed as a whole: that costs {:.0f} more, so that at most half are left."
NAMED = "A known bug: at most half of the points are left."
SHIPPED = "No nearer than a bug that shipped: at most half of the points are left."
GROSS = "Plain values are wrong or missing, so that nothing else counts."
GROSSLY = "Some plain values are grossly wrong: at most half of the points are left."
PARTIAL = "Only some of the outputs are right in plain values: at most four fifths of their share."
FORM = "The values are judged as if their form were right; the form costs {:.0f}."
CONDUCT = "How the results come about costs {:.0f} more."
ELSEWHERE = "Ordinary numbers are wrong in"
_SHOWN = 2  # names of cases behind a cause


@dataclass
class Part:
    """What one aim gave. earned, of: points of 100. because: what cost the others, a sentence for each cause."""

    aim: Aim
    earned: float
    of: float
    because: list[str]


@dataclass
class Points:
    """score: 0 to 1. parts: one for each aim that the exercise has; none where it is all or nothing. limit: why the
    score is less than their sum, in sentences; or "".
    """

    WEIGHTS: ClassVar[Mapping[str, float]] = {
        Aim.PLAIN: 30,
        Aim.POINT: 40,
        Aim.DTYPES: 10,
        Aim.LAYOUTS: 10,
        Aim.EDGES: 10,
    }

    score: float
    parts: list[Part] = field(default_factory=list)
    limit: str = ""


def points_of(report: Mapping[str, Any], weights: Mapping[str, float] = Points.WEIGHTS) -> Points:
    """The points for ``report`` (`ReportData.to_dict`). weights: of the aims, in any unit."""
    cases = [case for case in report["cases"] if not case["bonus"] and case["aim"]]
    if any(case["flaw"] == Flaw.WHOLE for case in report["cases"]):
        return Points(0.0)
    if not cases:
        return Points(_convicted(report))
    accounts = [_Account(cases, report, weights, excuse) for excuse in (None, *excuses(cases))]
    worth = [account.points() for account in accounts if account.near]
    return max(worth, key=lambda points: points.score, default=Points(0.0, limit=GROSS))


def _convicted(report: Mapping[str, Any]) -> float:
    """The share of the bugs that a witness shows; 1 or 0 for any other exercise whose cases have no aim."""
    shown: dict[str, bool] = {}
    for case in report["cases"]:
        if suspect := case["suspect"]:
            shown[suspect] = shown.get(suspect, True) and case["status"] == "pass"
    return sum(shown.values()) / len(shown) if shown else float(report["passed"])


def _is_open(case: CaseFields) -> bool:
    """Whether it was not reached, or no result was waited for."""
    return case["status"] == "not-run" or (case["status"] == "error" and case["flaw"] is None)


class _Account:
    """What failures cost but those with an excuse. near: the share of the outputs that are right in the first case, its
    form converted.
    """

    def __init__(
        self, cases: list[CaseFields], report: Mapping[str, Any], weights: Mapping[str, float], excuse: Excuse | None
    ):
        self.excuse, excused = excuse, excuse.names if excuse else frozenset()
        self.causes, self.named = report["causes"], bool(report["fingerprint"])
        self.of = {aim: [case for case in cases if case["aim"] == aim] for aim in Aim}
        self.of = {aim: own for aim, own in self.of.items() if own}
        unit = sum(weights[aim] for aim in self.of) / 100
        self.weights = {aim: weights[aim] / unit if unit else 0.0 for aim in self.of}
        counted = [c for c in cases if (c["kind"] is None or c["kind"] in report["required"]) and not _is_open(c)]
        failing = [case for case in counted if case["status"] in ("fail", "error")]
        self.failing = [case for case in failing if case["name"] not in excused and case["flaw"] != Flaw.FORM]
        self.forms = {case["form"] for case in failing if case["form"]}
        asked = cases[0]["kind"] is None or cases[0]["kind"] in report["required"]
        self.near = cases[0]["near"] if asked and cases[0]["name"] not in excused else 1.0

    def points(self) -> Points:
        """The points, with what they lost in each aim and beyond."""
        lost, conduct = self._lost(), self._conduct()
        shown = {aim: points + conduct * (aim is Aim.PLAIN) for aim, points in lost.items()}
        parts = [
            Part(aim, max(of - shown[aim], 0.0), of, list(self._because(aim, shown[aim])))
            for aim, of in self.weights.items()
        ]
        score, limits = sum(part.earned for part in parts), []
        if (beyond := score - (100 - sum(lost.values()) - conduct)) > 1e-9:
            score -= beyond
            limits.append(CONDUCT.format(beyond))
        if more := self._more(lost):
            score -= more
            limits.append(MISSED.format(more))
        if self.excuse:
            score = min(score * self.excuse.share, self.excuse.most)
            limits.append(self.excuse.sentence)
        if form := max((FORMS[name] for name in self.forms), default=0.0):
            score -= form
            limits.append(FORM.format(form))
        for most, sentence in self._limits():
            if score > most:
                score = most
                limits.append(sentence)
        return Points(max(round(score / 100, 6), LEAST), parts, " ".join(limits))

    def _limits(self) -> Iterable[tuple[float, str]]:
        """(the most points that are left, the reason)."""
        if self.named:
            yield HALF, NAMED
        elif any(case["shipped"] and case["flaw"] in (Flaw.NUMBERS, Flaw.SPECIAL) for case in self.failing):
            yield HALF, SHIPPED
        if self._gross() > MANY:
            yield HALF, GROSSLY
        if self.near < 1:
            yield 100 * OUTPUTS * self.near, PARTIAL

    def _gross(self) -> float:
        """The share of plain cases whose values are wrong by more than 1 %."""
        plain = self.of.get(Aim.PLAIN, [])
        return len([case for case in plain if case in self.failing and case["near"] < 1]) / max(len(plain), 1)

    def _share(self, aim: Aim, *flaws: Flaw | None) -> float:
        """The share of an aim's cases that fail in one of these ways."""
        return len(self._with(aim, *flaws)) / len(self.of[aim]) if aim in self.of else 0.0

    def _with(self, aim: Aim, *flaws: Flaw | None) -> list[CaseFields]:
        return [case for case in self.failing if case["aim"] == aim and case["flaw"] in flaws]

    def _lost(self) -> dict[Aim, float]:
        """The points that each aim loses."""
        plain = self._share(Aim.PLAIN, *VALUES, None) + TEXT * self._share(Aim.PLAIN, Flaw.TEXT)
        point = [self._of_point(case) for case in self.of.get(Aim.POINT, ())]
        own = self.weights.get(Aim.PLAIN, 0.0) * (1 - ANY) * plain
        base = own + self.weights.get(Aim.POINT, 0.0) * self._share(Aim.POINT, *VALUES)
        base *= 1 - self._share(Aim.PLAIN, *VALUES)  # where no plain case is right, nothing rests on them
        lost = {Aim.PLAIN: own + self._any(plain), **self._resting(base)}
        if point:
            lost[Aim.POINT] = self.weights[Aim.POINT] * sum(point) / len(point)
        unreached = {aim: self.weights[aim] * self._unreached(aim) / len(own) for aim, own in self.of.items()}
        return {aim: max(lost[aim], unreached[aim]) for aim in self.of}

    def _resting(self, base: float) -> dict[Aim, float]:
        """What the aims lose that rest on plain values and the point, which have lost ``base`` for wrong values. In
        layouts a case in half precision counts among the dtypes.
        """
        numbers = self._numbers()
        special = self._special(numbers)
        values = numbers | ({special} if special else set())
        most = sum(self.weights[aim] for aim in values)
        left = max(1 - base / most, self._gross()) if most else 0.0
        found = {}
        for aim in _RESTING:
            shares = left * (aim in values), TEXT * bool(self._with(aim, Flaw.TEXT)), float(bool(self._with(aim, None)))
            found[aim] = self.weights.get(aim, 0.0) * max(shares)
        return found

    def _numbers(self) -> set[Aim]:
        """The aims that pay for wrong numbers."""
        failing = [case for aim in _RESTING for case in self._with(aim, Flaw.NUMBERS)]
        halves = [case for case in failing if case["aim"] == Aim.LAYOUTS and case["half"] and Aim.DTYPES in self.of]
        numbers = {Aim(case["aim"]) for case in failing if case not in halves}
        paid = numbers & {Aim.DTYPES, Aim.LAYOUTS} or self._with(Aim.LAYOUTS, None)
        return numbers | ({Aim.DTYPES} if halves and not paid else set())

    def _special(self, numbers: set[Aim]) -> Aim | None:
        """The aim that pays for what goes wrong with NaN, infinity, nothing and bad input: one that pays for nothing
        else, if any, and none that pays for ``numbers``.
        """
        aims = [aim for aim in _RESTING if aim not in numbers and self._with(aim, Flaw.SPECIAL)]
        return min(
            aims, key=lambda aim: len(self._with(aim, None)) + TEXT * len(self._with(aim, Flaw.TEXT)), default=None
        )

    def _any(self, plain: float) -> float:
        """What plain values lose where ordinary numbers are wrong anywhere: where no plain case fails, no more than
        what leaves half beside the point.
        """
        most = ANY * self.weights.get(Aim.PLAIN, 0.0)
        if plain or not any(case["flaw"] == Flaw.NUMBERS for case in self.failing):
            return most if plain else 0.0
        point = self._share(Aim.POINT, Flaw.NUMBERS)
        return 0.0 if point == 1 else min(most, max(HALF - self.weights.get(Aim.POINT, 0.0) * point, 0.0))

    def _of_point(self, case: CaseFields) -> float:
        """The share that is lost of a case of the point."""
        if case not in self.failing or case["flaw"] in _SPOILS:
            return 0.0
        return TEXT if case["flaw"] == Flaw.TEXT else 1.0

    def _conduct(self) -> float:
        """What conduct costs: as much as plain values are worth where they have it, and elsewhere no more."""
        weights, most = self.weights, self.weights.get(Aim.PLAIN, HALF)
        if self._with(Aim.PLAIN, *_SPOILS):
            return most
        cost = sum(weights[aim] for aim in _RESTING if self._with(aim, Flaw.CONDUCT))
        cost += weights.get(Aim.POINT, 0.0) * self._share(Aim.POINT, Flaw.CONDUCT)
        cost += weights.get(Aim.DTYPES, 0.0) * any(case["flaw"] == Flaw.CONVERTED for case in self.failing)
        return min(cost, most)

    def _more(self, lost: Mapping[Aim, float]) -> float:
        """What a point that is missed as a whole costs beyond its own weight, where plain values have not lost it."""
        point = self.of.get(Aim.POINT)
        if not point or min(map(self._of_point, point)) < 1:
            return 0.0
        more = max(100 - self.weights[Aim.POINT] - HALF, 0.0)
        numbers = self._share(Aim.POINT, Flaw.NUMBERS) == 1
        return max(more - lost.get(Aim.PLAIN, 0.0), 0.0) if numbers else more

    def _because(self, aim: Aim, lost: float) -> Iterable[str]:
        if not lost:
            return
        told = False
        for cause in self.causes:
            if names := self._names(cause, lambda case: case["aim"] == aim):
                told = True
                yield f"{names}: {cause['message']}"
        if aim is Aim.PLAIN and not told:
            for cause in self.causes:
                if names := self._names(cause, lambda case: case["flaw"] == Flaw.NUMBERS):
                    yield f"{ELSEWHERE} {names}."
        if unreached := self._unreached(aim):
            first = next(case for case in self.of[aim] if _is_open(case))
            yield f"{unreached} of {len(self.of[aim])} cases: {first['message']}"

    def _names(self, cause: Mapping[str, Any], which: Callable[[CaseFields], bool]) -> str:
        """The cases of a cause that count and are such."""
        names = [case["name"] for case in self.failing if case["name"] in cause["cases"] and which(case)]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"{'; '.join(names[:_SHOWN])}{more}"

    def _unreached(self, aim: Aim) -> int:
        return sum(map(_is_open, self.of[aim]))
