"""One case of an exercise: call the answer twice, compare with the oracle, and say in one sentence what is wrong."""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..exercises.record import Case, Exercise
from ..report.phrases import used
from ..report.quality import Quality
from ..report.results import CaseResult, Curve, Failure
from ..run.outcome import Outcome, Trouble
from ..run.runner import Runner
from ..ulp import ulp_error
from .compare import Comparison, Expected, compare, evidence_of, expect
from .decoy import decoys
from .fingerprint import wild_outputs
from .steady import Fault, unsteady

DRAWABLE = 500  # elements from which on an error curve shows more than the failing value does


# Troubles of the whole answer: of its values nothing is known, and no other case can go better.
UNJUDGED = ("stub", "refused", "unloadable")
GROSS = 64.0  # ulp: what is farther off is no matter of rounding


@dataclass
class Judged:
    """A result, and what the rest of the check needs of it: the trouble that stopped it, the outputs that were
    wrong.
    """

    result: CaseResult
    trouble: Trouble | None = None
    args: tuple = ()
    outputs: list | None = None  # of each output, where one is wrong: (actual, mask of wrong elements, error, allowed)
    outcome: Outcome | None = None

    @property
    def evidence(self) -> list | str | None:
        """What tells one bug from another: wrong outputs, or the name of the error that was raised."""
        if self.result.status == "pass":
            return None
        return self.outputs or (self.trouble.error if self.trouble else "") or None


def judge_case(
    exercise: Exercise, case: Case, backend: str, runner: Runner, args: tuple, conventions: str = "course"
) -> Judged:
    """Calls the answer on the case's arguments, and once more, in Triton with the programs of every launch in another
    order. Where that fails and a load has masked-off lanes without ``other``, all of it again with 0 in these lanes:
    what is right then is wrong by nobody's promise, and by nothing else.
    """
    judged = _judged(exercise, case, backend, runner, args, conventions)
    if judged.result.status in ("pass", "not-run") or not (judged.outcome and judged.outcome.undefined):
        return judged
    filled = _judged(exercise, case, backend, runner, args, conventions, fill=0.0)
    return unportable(judged) if filled.result.status == "pass" else judged


def unportable(judged: Judged) -> Judged:
    """A failure that filling the masked-off lanes with 0 cures: today's NVIDIA backends do, and none has to."""
    suspects = [hint for hint in judged.outcome.hints if hint.kind == "masked-load"]
    said = suspects[0].message if suspects else "A load has a mask and no `other`."
    more = "".join(f" Look at this one, too: {hint.cause}" for hint in suspects[1:3])
    message = f"{said}{more} With 0 in these lanes, as today's NVIDIA backends fill them, the result is right."
    cause = f"{suspects[0].cause} The result hangs on what masked-off lanes hold." if suspects else ""
    told = replace(judged.result, status="fail", message=message, cause=cause, details="", hint="")
    return replace(judged, result=replace(told, kind=Quality.PORTABLE), trouble=None, outputs=None)


def _judged(
    exercise: Exercise,
    case: Case,
    backend: str,
    runner: Runner,
    args: tuple,
    conventions: str,
    fill: float | None = None,
) -> Judged:
    shown = describe(exercise, args)

    def result(status: str, message: str, **more) -> CaseResult:
        hint = more.pop("hint", "" if status == "pass" else case.hint)
        return CaseResult(case.name, status, case.bonus, message, shown, hint, convention=case.convention, **more)

    how = {"decoy": decoys(case, args)} | ({} if fill is None else {"fill": fill})
    outcome = runner.call(args, **how)
    if outcome.trouble:
        judged = _trouble(case, outcome.trouble, result, args, outcome, conventions)
        if (
            case is exercise.cases[0]
        ):  # its hint is about the formula, which an answer without a result has not got wrong
            judged.result = replace(judged.result, hint="")
        return judged
    if case.raises:
        message = f"This call should raise {case.raises.__name__}, but it returned."
        return Judged(result("fail", message), None, args, _returned(exercise, case, args, outcome), outcome)
    named = dict(zip(exercise.parameters, args, strict=False))
    expected = expect(exercise, case, args, conventions)
    comparisons = [compare(expected, i, outcome.outputs[i], named) for i in range(len(expected.names))]
    worst = max((c.worst for c in comparisons), default=0.0)
    curve = _curve(exercise, case, args, expected, comparisons)
    complaint = next((c.complaint for c in comparisons if c.complaint), "")
    if complaint:
        return Judged(result("fail", complaint, hint=""), None, args, None, outcome)  # of values nothing is known
    failed = [c for c in comparisons if c.failure]
    if failed:
        first = failed[0].failure
        wrong = evidence_of(expected, comparisons, outcome.outputs)
        message = f"{first.output} is wrong in {first.wrong:,} of {first.total:,} elements."
        hints = [hint for hint in outcome.hints if hint.kind != "masked-load"]  # which is told where it is proven
        message = " ".join([message, *(f.message for f in outcome.findings[:1]), *(h.message for h in hints[:1])])
        cause = outcome.findings[0].cause if outcome.findings else _cause(first)
        hint = "" if outcome.findings and case in exercise.cases[:2] else case.hint  # which is about the formula
        failed = result("fail", message, failure=first, worst_ulp=worst, curve=curve, cause=cause, hint=hint)
        return Judged(failed, None, args, wrong, outcome)
    fault = _misdeed(outcome) or unsteady(exercise, case, args, backend, runner, outcome, expected, how)
    if fault:
        status = "error" if fault.late else "fail"
        failed = result(status, fault.message, worst_ulp=worst, kind=fault.kind, cause=fault.cause)
        return Judged(failed, fault.late, args, None, outcome)
    most = max(comparisons, key=lambda c: c.used)
    said = used(most.used, most.error_there, most.allowed_there, most.step_there)
    return Judged(
        result("pass", said, worst_ulp=worst, curve=curve),
        None,
        args,
        None,
        outcome,
    )


def _cause(failure: Failure) -> str:
    """What is wrong with the worst element, without its place and value."""
    got, expected = (_number_kind(value) for value in (failure.got, failure.expected))
    if got != expected:
        return f"{failure.output} is {got} where {expected} belongs."
    far = "wrong" if failure.ulp > GROSS else "off by a few ulp more than rounding once costs"
    return f"{failure.output} is {far}."


def _number_kind(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "a number" if math.isfinite(value) else "infinity" if value > 0 else "-infinity"


def _returned(exercise: Exercise, case: Case, args: tuple, outcome: Outcome) -> list | None:
    """Of a call that should have raised, the elements that no reading of it makes right: what is right where the bad
    input is left out is no evidence of any bug.
    """
    if case.repaired is None:
        return None
    args = case.repaired(args)
    named = dict(zip(exercise.parameters, args, strict=False))
    expected = expect(exercise, case, args)
    found = [compare(expected, i, o, named) for i, o in enumerate(outcome.outputs)]
    if any(c.complaint for c in found):
        return None
    wrong = evidence_of(expected, found, outcome.outputs)
    return wrong if any(c.failure for c in found) else None


def _trouble(case: Case, trouble: Trouble, result, args: tuple, outcome: Outcome, conventions: str) -> Judged:
    if case.raises and trouble.kind == "raised" and trouble.error == case.raises.__name__:
        import re

        as_pytorch = conventions == "pytorch" and case.convention  # its message names the label alone
        if as_pytorch or re.search(case.says, trouble.message):
            return Judged(result("pass", f"raised {trouble.message}"), None, args, None, outcome)
        return Judged(
            result("fail", f"The message should name the place; it says: {trouble.message}"), None, args, None, outcome
        )
    status = "fail" if trouble.kind in ("finding", "refused") else "error"
    kind = None if trouble.kind in (*UNJUDGED, "timeout") else Quality.CORRECT
    message = trouble.place + trouble.message
    failed = result(status, message, details=trouble.details, kind=kind, cause=trouble.cause)
    return Judged(failed, trouble, args, None, outcome)


def _misdeed(outcome: Outcome) -> Fault | None:
    """What a right result does not excuse."""
    if outcome.findings:
        return Fault(outcome.findings[0].message, cause=outcome.findings[0].cause)
    if outcome.mutated:
        changed = f"The answer changed its input {outcome.mutated[0]}."
        return Fault(f"{changed} The caller may still need it: write into a new tensor.")
    if outcome.aliased:
        return Fault(f"An output shares memory with the input {outcome.aliased[0]}. Return a tensor of its own.")
    return None


def describe(exercise: Exercise, args: tuple) -> str:
    """The arguments in words: ``dy: float16 (11, 101) strides (202, 2), eps: 1e-05``."""
    words = []
    for name, value in zip(exercise.parameters, args, strict=False):
        if isinstance(value, torch.Tensor):
            strides = "" if value.is_contiguous() else f" strides {value.stride()}"
            words.append(f"{name}: {str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}{strides}")
        else:
            words.append(f"{name}: {value!r}")
    return ", ".join(words)


def _curve(
    exercise: Exercise, case: Case, args: tuple, expected: Expected, comparisons: list[Comparison]
) -> Curve | None:
    """The first output's error over the swept input, beside that of the first wild bug."""
    if not case.swept or comparisons[0].error is None or comparisons[0].error.numel() < DRAWABLE:
        return None
    x = args[exercise.parameters.index(case.swept)]
    keep = x.isfinite().flatten()
    order = x.double().flatten()[keep].argsort()

    def over_x(values: torch.Tensor) -> np.ndarray:
        return values.double().flatten()[keep][order].numpy()

    wild = None
    if exercise.wild:
        theirs = wild_outputs(exercise, exercise.wild[0], args)[0][0]
        wild = over_x(
            ulp_error(theirs, expected.values[0], expected.dtypes[0]).masked_fill(expected.allowed[0].isinf(), 0.0)
        )
    return Curve(
        parameter=case.swept,
        dtype=str(expected.dtypes[0]).removeprefix("torch."),
        x=over_x(x),
        ulp=over_x(comparisons[0].error),
        wild=wild,
        wild_name=exercise.wild[0].who if exercise.wild else "",
        allowed=over_x(expected.allowed[0]),
    )
