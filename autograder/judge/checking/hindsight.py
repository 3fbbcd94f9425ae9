"""Says what is said otherwise of a case once all cases are known."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..results.case_result import CaseResult
from .determinism import FORESEEN, SUSPICION

AS_IF = " as if "


def in_hindsight(
    cases: Iterable[CaseResult], relations: Mapping[str, str], forms: Mapping[str, str], named: bool
) -> list[CaseResult]:
    """The cases. That results do not follow from the inputs is said where nothing else fails: an answer that is wrong
    for a common reason is wrong on other numbers, too. Where a bug or a mistake is named, the report says what it did,
    and a hint of the case, or other arguments for which the values would be right, lead elsewhere.

    relations: how wrong values are related to right ones, by case, as the end of its message. forms: what is wrong with
    the form of a result, by case: it costs points, and is said in the first case that fails where it is no cause of its
    own. named: whether the bug is. The hint of an instructor's case, which is about what that case alone shows, is
    left out where a case of the exercise fails as well.
    """
    shown = _with_form(list(cases), forms)
    if any(case.fails and not case.hidden for case in shown):
        shown = [replace(case, hint="") if case.hidden else case for case in shown]
    if any(case.status in ("fail", "error") and case.code != FORESEEN for case in shown):
        shown = [replace(case, message=case.message.removesuffix(SUSPICION)) for case in shown]
    return [_without_lead(case, relations.get(case.name, "")) for case in shown] if named else shown


def _with_form(cases: list[CaseResult], forms: Mapping[str, str]) -> list[CaseResult]:
    failing = [case for case in cases if not case.bonus and not case.hidden and case.status == "fail"]
    misformed = next((case for case in failing if case.name in forms), None)
    if misformed is None or misformed is failing[0] or any(case.form and case.failure is None for case in failing):
        return cases
    more = f"{forms[misformed.name].rstrip('.')}, in “{misformed.name}”."
    return [replace(case, message=f"{case.message} {more}") if case is failing[0] else case for case in cases]


def _without_lead(case: CaseResult, relation: str) -> CaseResult:
    if case.failure is None or case.hidden:
        return case
    message = case.message.removesuffix(f" {relation}") if AS_IF in relation else case.message
    return replace(case, hint="", message=message)
