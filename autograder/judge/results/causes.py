"""Failing cases by what they have in common: one cause, one sentence, the cases behind it.

Whether two cases fail for one cause, and so what they cost, follows from code and place, never from words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...words import Quality
from ..records.category import Category
from .case_result import CaseResult
from .sentences import ROUNDING, VALUES, sentence


@dataclass(frozen=True)
class Cause:
    """A reason why cases fail. kind: the quality that the answer lacks, None where it was not judged at all. code,
    place: those of all ``cases`` (`CaseResult`). message: one sentence that is true of all of them; the whole message
    where there is one.
    """

    kind: Quality | None
    code: str
    place: str
    message: str
    cases: tuple[CaseResult, ...]


def causes(cases: Sequence[CaseResult], source: str) -> tuple[Cause, ...]:
    """The causes of all failures but those of distinctions, the one to mend first at the front: what is wrong before
    what is not portable before what is slow, and of these the one that the exercise's cases meet first. What makes an
    output wrong in one case and a few ulp off in another is one cause: its worst element decides between the two, and
    so do the random numbers. Where all that fails has inputs in half precision, cases of dtypes come before layouts;
    else the cases in float32 come first, which show that half precision is not the cause.

    source: the bug whose values the wrong ones are, the cause of all of them; or "".
    """
    groups: dict[tuple[object, ...], list[CaseResult]] = {}
    failing = [case for case in cases if case.fails]
    if all(case.half for case in failing):
        failing.sort(key=lambda case: (case.category is not Category.DTYPES, case.strided))
    else:
        failing.sort(key=lambda case: case.half)
    for case in failing:
        groups.setdefault(_key(case, source), []).append(case)
    grouped = [_cause(group, source) for group in groups.values()]
    return tuple(sorted(grouped, key=lambda cause: list(Quality).index(cause.kind or Quality.CORRECT)))


def _key(case: CaseResult, source: str) -> tuple[object, ...]:
    if case.hidden:  # of an instructor's cases each is listed by itself
        return (case.kind, "hidden", case.name)
    if _has_source(case, source):
        return (case.kind, "source", source)
    return (case.kind, VALUES if case.code == ROUNDING else case.code or case.name, case.place)


def _has_source(case: CaseResult, source: str) -> bool:
    return bool(source and case.failure and case.kind is Quality.CORRECT)


def _cause(group: list[CaseResult], source: str) -> Cause:
    first, message = group[0], ""
    if len(group) > 1 and _has_source(first, source):
        message = f"The wrong values have one source: {source}."
    elif len(group) > 1:
        rounded = all(case.code == ROUNDING for case in group)
        message = sentence(VALUES if first.code == ROUNDING and not rounded else first.code, first.place)
    return Cause(first.kind, first.code, first.place, message or first.message, tuple(group))
