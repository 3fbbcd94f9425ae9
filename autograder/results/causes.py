"""Failing cases by what they have in common: one cause, one sentence, the cases behind it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .case_result import CaseResult, Failure
from .quality import Quality

_NUMBER = re.compile(r"[-+]?\d[\d,.]*(?:e[-+]?\d+)?")
_BFLOAT = re.compile(r"\bbf(loat)?#")  # bfloat16 and bf16, once their digits are gone
WRONG, ROUNDED = "wrong", "off by a few ulp more than rounding once costs"
_TUPLE = re.compile(r"[(\[](?:#(?:, ?#)*,?)?[)\]]")


@dataclass(frozen=True)
class Cause:
    """A reason why cases fail. kind: the quality that the answer lacks, None where it was not judged at all. message:
    one sentence that is true of all ``cases``; the whole message where there is one.
    """

    kind: Quality | None
    message: str
    cases: tuple[CaseResult, ...]


def causes(cases: Sequence[CaseResult], source: str) -> tuple[Cause, ...]:
    """The causes of all failures but those of distinctions, the one to mend first at the front: what is wrong before
    what is not portable before what is slow, and of these the one that the exercise's cases meet first. What makes an
    output wrong in one case and a few ulp off in another is one cause: its worst element decides between the two, and
    so do the random numbers.

    source: the bug whose values the wrong ones are, the cause of all of them; or "".
    """
    groups: dict[tuple[object, ...], list[CaseResult]] = {}
    failing = [case for case in cases if not case.bonus and case.status in ("fail", "error")]
    for case in failing:
        groups.setdefault(_key(case, source), []).append(case)
    found = [Cause(group[0].kind, _message(group, source), tuple(group)) for group in groups.values()]
    return tuple(sorted(found, key=lambda cause: _rank(cause.kind)))


def _rank(kind: Quality | None) -> int:
    """An answer that is refused in a later case was wrong before: that comes first."""
    return list(Quality).index(kind or Quality.CORRECT)


def _key(case: CaseResult, source: str) -> tuple[object, ...]:
    if case.hidden:  # of an instructor's cases each is listed by itself
        return (case.kind, case.name)
    if case.failure and source and case.kind is Quality.CORRECT:
        return (case.kind, source)
    if case.failure and case.cause == _of(case.failure, ROUNDED):
        return (case.kind, _of(case.failure, WRONG))
    return (case.kind, case.cause or _TUPLE.sub("#", _plain(case.message)))


def _of(failure: Failure, how: str) -> str:
    """``y is wrong.``"""
    return f"{failure.output} is {how}."


def _plain(message: str) -> str:
    """The message without numbers, and with float16 for bfloat16: one mistake is reported in both dtypes."""
    return _BFLOAT.sub(lambda found: "float#" if found[1] else "fp#", _NUMBER.sub("#", message))


def _message(group: list[CaseResult], source: str) -> str:
    first = group[0]
    if len(group) > 1 and first.failure and source and first.kind is Quality.CORRECT:
        return f"The wrong values have one source: {source}."
    if len(group) == 1 or not first.cause:
        return first.message
    found = {case.cause for case in group}
    return first.cause if len(found) == 1 or not first.failure else _of(first.failure, WRONG)
