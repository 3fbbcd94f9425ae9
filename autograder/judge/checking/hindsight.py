"""Says what is said otherwise of a case once all cases are known."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..explaining.up_to import ONE, Factors, right_up_to
from ..results.case_result import CaseResult
from ..results.scoring import plain_values
from .determinism import FORESEEN, SUSPICION

AS_IF = " as if "
SIGN = 1e-3  # how near a factor is to -1 that is a sign, and to that of another case that is the same
SEVERAL = 2  # cases that show it: one number is always right up to a factor


def in_hindsight(
    cases: Iterable[CaseResult],
    relations: Mapping[str, str],
    forms: Mapping[str, str],
    factors: Mapping[str, Factors],
    named: bool,
) -> list[CaseResult]:
    """The cases. That results do not follow from the inputs is said where nothing else fails: an answer that is wrong
    for a common reason is wrong on other numbers, too. Where a bug or a mistake is named, the report says what it did,
    and a hint of the case, or other arguments for which the values would be right, lead elsewhere.

    relations: how wrong values are related to right ones, by case, as the end of its message. forms: what is wrong with
    the form of a result, by case: it costs points, and is said in the first case that fails where it is no cause of its
    own. factors: what values that nothing else explains are right up to, by case. named: whether the bug is. The hint
    of an instructor's case, which is about what that case alone shows, is left out where a case of the exercise fails
    as well.
    """
    shown = _with_form(list(cases), forms)
    if any(case.fails and not case.hidden for case in shown):
        shown = [replace(case, hint="") if case.hidden else case for case in shown]
    if any(case.status in ("fail", "error") and case.code != FORESEEN for case in shown):
        shown = [replace(case, message=case.message.removesuffix(SUSPICION)) for case in shown]
    if not named:
        return _with_factor(shown, relations, factors)
    return [_without_lead(case, relations.get(case.name, "")) for case in shown]


def _with_factor(
    cases: list[CaseResult], relations: Mapping[str, str], factors: Mapping[str, Factors]
) -> list[CaseResult]:
    """The cases. Where the plain values of several cases are wrong by one factor, which no case alone shows, the first
    one says it.
    """
    first = next((case for case in cases if case.fails and not case.hidden), None)
    factor = dict(factors.get(first.name, ())).get(ONE) if first else None
    if first is None or first.failure is None or factor is None or relations.get(first.name):
        return cases
    wrong = [case for case in plain_values([case for case in cases if not case.bonus]) if case.near != 1]
    if first not in wrong or len(wrong) < SEVERAL or right_up_to(cases, factors) != ONE:
        return cases
    of_cases = [dict(factors.get(case.name, ())).get(ONE, 0.0) for case in wrong]
    outputs = {case.failure.output if case.failure else "" for case in wrong}
    if len(outputs) > 1 or any(abs(number - factor) > SIGN * abs(factor) for number in of_cases):
        return cases
    relation = "has the other sign" if abs(factor + 1) < SIGN else f"is {factor:.3g} times what is right"
    message = f"{first.message} {first.failure.output} {relation}, here and wherever plain values are wrong."
    return [replace(case, message=message, hint="") if case is first else case for case in cases]


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
