"""How many points a report is worth, and what cost them: from its data alone, so that other weights check nothing
again. Points go to aims, not to cases, and a cause of failure counts once, in the aim that it is about:

- One aim rests on others: a transposed tensor holds plain values, a sweep over a dtype holds zeros and NaN. Where one
  cause fails cases of both, it is about what the other rests on.
- Of dtypes, layouts and edges a cause costs all; of the point, the share of its cases. Plain values lose `OWN` of their
  weight where a plain case fails, and the rest where ordinary numbers come out wrong anywhere.
- Conduct that a right result does not excuse costs the plain values, and so does a wrong dtype of theirs, or a result
  that PyTorch was to convert. Where only half precision is, that costs the dtypes.
- At most half is left where the whole point is missed, or where the bug is one that shipped. Nothing is left where all
  plain values are grossly wrong; where some of the outputs are, `OUTPUTS` times the share of the others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .aim import Aim
from .flaw import Flaw

WEIGHTS: Mapping[str, float] = {Aim.PLAIN: 30, Aim.POINT: 40, Aim.DTYPES: 10, Aim.LAYOUTS: 10, Aim.EDGES: 10}
OWN = 0.6
HALF = 0.5
OUTPUTS = 0.8
TEXT = 0.2  # of a case that raises the right error with a wrong text
FIRST = 2  # cases: ordinary values, and the same shape again
LEAST = 0.05  # for plain values that are nearly right, whatever else fails
_RESTS_ON: dict[Aim, tuple[Aim, ...]] = {
    Aim.PLAIN: (),
    Aim.POINT: (),
    Aim.EDGES: (Aim.PLAIN, Aim.POINT),
    Aim.DTYPES: (Aim.PLAIN, Aim.POINT, Aim.EDGES),
    Aim.LAYOUTS: (Aim.PLAIN, Aim.POINT, Aim.EDGES, Aim.DTYPES),
}
MISSED = "The point of the exercise is missed as a whole: that costs {:.0f} more, so that at most half are left."
SHIPPED = "This bug shipped, as said above: at most half of the points are left."
GROSS = "Plain values are wrong or missing, so that nothing else counts."
PARTIAL = "Only some of the outputs are right in plain values: at most four fifths of their share."
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
    score is less than their sum, a sentence; or "".
    """

    score: float
    parts: list[Part] = field(default_factory=list)
    limit: str = ""


def points_of(report: Mapping[str, Any], weights: Mapping[str, float] = WEIGHTS) -> Points:
    """The points for ``report`` (`ReportData.to_dict`). weights: of the aims, in any unit."""
    cases = [case for case in report["cases"] if not case["bonus"] and case["aim"]]
    if any(case["flaw"] == Flaw.WHOLE for case in report["cases"]):
        return Points(0.0)
    if not cases:
        return Points(float(report["passed"]))
    first = cases[0]
    near = first["near"] if _counts(first["kind"], report) else 1.0
    if not near:
        return Points(0.0, limit=GROSS)
    causes = []
    for cause in report["causes"]:
        failing = [case for case in cases if case["name"] in cause["cases"]]
        if failing and _counts(cause["kind"], report) and not all(map(_is_open, failing)):
            causes.append(_Cause(cause["message"], failing, spoils=near < 1 and first in failing))
    account = _Account(cases, _without_repetition(causes))
    return account.limited(account.parts(weights), near, bool(report["fingerprint"]))


def _is_open(case: Mapping[str, Any]) -> bool:
    """Whether it was not reached, or no result was waited for."""
    return case["status"] == "not-run" or (case["status"] == "error" and case["flaw"] is None)


def _counts(kind: str | None, report: Mapping[str, Any]) -> bool:
    return kind is None or kind in report["required"]


class _Cause:
    """A cause of failure.

    spoils: whether it spoils all plain values, as conduct does. share: of what it can cost. about: the aims in which it
    counts. wrong: whether it makes ordinary numbers wrong. special: whether it is about NaN, infinity, nothing and bad
    input alone.
    """

    def __init__(self, message: str, cases: list[Mapping[str, Any]], spoils: bool = False):
        flaws, met = {case["flaw"] for case in cases}, {Aim(case["aim"]) for case in cases}
        self.message, self.cases = message, cases
        self.share = TEXT if flaws == {Flaw.TEXT} else 1.0
        self.wrong = bool(flaws & {Flaw.NUMBERS, Flaw.DTYPE})
        self.special = flaws == {Flaw.SPECIAL}
        of_dtypes = bool(flaws & {Flaw.DTYPE, Flaw.CONVERTED})
        self.spoils = spoils or ((of_dtypes or Flaw.CONDUCT in flaws) and Aim.PLAIN in met)
        if self.spoils:
            met = {Aim.PLAIN}
        elif of_dtypes and Aim.DTYPES in met:
            met = {Aim.DTYPES}
        self.about = {aim for aim in met if met.isdisjoint(_RESTS_ON[aim])}

    def told(self, aim: Aim) -> str:
        return f"{self.where(aim)}: {self.message}"

    def where(self, aim: Aim) -> str:
        """The cases that fail in an aim, or all of them."""
        names = [case["name"] for case in self.cases if case["aim"] == aim or aim not in self.about]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"{'; '.join(names[:_SHOWN])}{more}"


def _without_repetition(causes: list[_Cause]) -> list[_Cause]:
    """The causes, with all that concern NaN or infinity, which have one remedy, merged into one."""
    special = [cause for cause in causes if cause.special]
    together = [_Cause(special[0].message, [case for cause in special for case in cause.cases])] if special else []
    return [cause for cause in causes if not cause.special] + together


class _Account:
    """What causes of failure cost."""

    def __init__(self, cases: list[Mapping[str, Any]], causes: list[_Cause]):
        found = {aim: [case for case in cases if case["aim"] == aim] for aim in Aim}
        self.first = [case for case in cases[:FIRST] if case["aim"] == Aim.PLAIN]
        self.of, self.causes = {aim: own for aim, own in found.items() if own}, causes
        self._point = [self._of_point(case) for case in found[Aim.POINT]]
        self.missed = bool(self._point) and min(self._point) == 1

    def parts(self, weights: Mapping[str, float]) -> list[Part]:
        hundredth = sum(weights[aim] for aim in self.of) / 100
        of = {aim: weights[aim] / hundredth if hundredth else 0.0 for aim in self.of}
        return [Part(aim, of[aim] * (1 - self._lost(aim)), of[aim], list(self._because(aim))) for aim in self.of]

    def limited(self, parts: list[Part], near: float, shipped: bool) -> Points:
        """near: the share of the outputs that are right in plain values. shipped: whether the bug is one that did."""
        score, limit = round(sum(part.earned for part in parts) / 100, 6), ""
        if self.missed:
            others = sum(part.of for part in parts if part.aim is not Aim.POINT) / 100
            more = max(others - HALF, 0.0)
            score, limit = score - more, MISSED.format(100 * more) if more else ""
        if shipped and score > HALF:
            score, limit = HALF, SHIPPED
        if near < 1 and score > OUTPUTS * near:
            score, limit = OUTPUTS * near, PARTIAL
        return Points(max(score, LEAST), parts, limit)

    def _of_point(self, case: Mapping[str, Any]) -> float:
        """The share that is lost of a case of the point."""
        return max((c.share for c in self.causes if Aim.POINT in c.about and case in c.cases), default=0.0)

    def _lost(self, aim: Aim) -> float:
        """The share that is lost of an aim."""
        unreached = len(self._unreached(aim)) / len(self.of[aim])
        here = self._here(aim)
        if aim is Aim.POINT:
            return sum(self._point) / len(self._point) + unreached
        if aim is not Aim.PLAIN:
            return max([unreached, *(cause.share for cause in here)])
        own = max((1.0 if cause.spoils else OWN for cause in here), default=0.0)
        return min(max(unreached, own + (1 - OWN) * any(map(self._costs_more, self.causes))), 1.0)

    def _here(self, aim: Aim) -> list[_Cause]:
        """The causes that count in an aim. One that has cost the whole point counts in plain values where ordinary ones
        show it, the first `FIRST` cases.
        """
        here = [cause for cause in self.causes if aim in cause.about]
        if aim is Aim.PLAIN:
            here = [c for c in here if not self._cost_the_point(c) or any(one in c.cases for one in self.first)]
        return here

    def _costs_more(self, cause: _Cause) -> bool:
        """Whether plain values pay for it wherever it counts: it makes numbers wrong."""
        return cause.wrong and not self._cost_the_point(cause)

    def _cost_the_point(self, cause: _Cause) -> bool:
        return self.missed and Aim.POINT in cause.about

    def _because(self, aim: Aim) -> Iterator[str]:
        here = self._here(aim)
        yield from (cause.told(aim) for cause in here)
        if aim is Aim.PLAIN and not here:
            yield from (f"{ELSEWHERE} {cause.where(aim)}." for cause in self.causes if self._costs_more(cause))
        if unreached := self._unreached(aim):
            yield f"{len(unreached)} of {len(self.of[aim])} cases: {unreached[0]['message']}"

    def _unreached(self, aim: Aim) -> list[Mapping[str, Any]]:
        return [case for case in self.of[aim] if _is_open(case)]
