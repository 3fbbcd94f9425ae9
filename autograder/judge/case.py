"""One case of an exercise: call the answer twice, compare with the oracle, and say in one sentence what is wrong."""

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import torch

from ..emulator import Finding
from ..exercises.record import Case, Exercise, ordinary
from ..report.phrases import used
from ..results.case_result import CaseResult, Failure, Status
from ..results.flaw import Flaw
from ..results.quality import Quality
from ..run.contract import Args
from ..run.dtypes import dtype_name
from ..run.outcome import Decoy, Outcome, Trouble
from ..run.runner import Runner
from . import lanes
from .compare import Comparison, Expected, Wrong, compare_all, evidence_of, expect, near
from .curve import curve_of
from .decoy import decoys, unforeseeable
from .fault import Fault
from .fingerprint import Evidence
from .known import expected_of
from .steady import Options, unsteady

# Troubles of the whole answer: its values are unknown, and no other case can do better.
UNJUDGED = ("stub", "refused", "unloadable")
Fields = dict[str, Any]  # of a `CaseResult`, by name

GROSS = 64.0  # ulp: what is farther off is no matter of rounding


@dataclass
class Judged:
    """A result, and what the rest of the check needs of it: the trouble that stopped it, the outputs that were
    wrong.
    """

    result: CaseResult
    _: KW_ONLY
    trouble: Trouble | None = None
    args: Args = ()
    outputs: list[Wrong] | None = None  # all of them, where one is wrong
    outcome: Outcome | None = None

    @property
    def evidence(self) -> Evidence | None:
        """What tells one bug from another: wrong outputs, or the name of the error that was raised."""
        if self.result.status == "pass":
            return None
        return self.outputs or (self.trouble.error if self.trouble else "") or None


def judge_case(
    exercise: Exercise,
    case: Case,
    backend: str,
    runner: Runner,
    args: Args,
    conventions: str = "course",
    curve: bool = True,
) -> Judged:
    """Calls the answer on the case's arguments, and once more, in Triton with the programs of every launch in another
    order and, where a load has masked-off lanes without ``other``, with other numbers in these lanes (`unsteady`).
    Where an answer with such lanes is wrong, all of it again on the same numbers with 0 in the lanes: an answer that is
    right then fails only because it relies on them.

    curve: whether a result that passes has one.
    """
    seeds, again = itertools.tee(unforeseeable())
    question = _Question(exercise, case, backend, runner, args, conventions, decoys(case, args, seeds), curve=curve)
    judged = _judged(question)
    if judged.result.status in ("pass", "not-run") or not (judged.outcome and judged.outcome.undefined):
        return judged
    if judged.result.kind == Quality.PORTABLE:
        return judged
    filled = _judged(replace(question, decoy=decoys(case, args, again), fill=0.0))
    return unportable(judged, judged.outcome.hints) if filled.result.status == "pass" else judged


def unportable(judged: Judged, hints: tuple[Finding, ...]) -> Judged:
    """A failure that filling the masked-off lanes with 0 cures: today's NVIDIA backends do, and none has to."""
    fault = lanes.fault(hints, f"{lanes.FILLED}, the result is right.", Quality.PORTABLE)
    failing = replace(judged.result, status="fail", message=fault.message, cause=fault.cause, details="", hint="")
    failing = replace(failing, kind=fault.kind, flaw=Flaw.CONDUCT, near=1.0)
    return replace(judged, result=failing, trouble=None, outputs=None)


@dataclass(frozen=True)
class _Question:
    """One call that is to be judged."""

    exercise: Exercise
    case: Case
    backend: str
    runner: Runner
    args: Args
    conventions: str
    decoy: Callable[[], Decoy]
    fill: float | None = None
    curve: bool = True

    @property
    def flaw(self) -> Flaw:
        """Of wrong values, or of none."""
        return Flaw.NUMBERS if ordinary(self.args) and not self.case.raises else Flaw.SPECIAL

    @property
    def how(self) -> Options:
        return Options(self.decoy, self.fill)

    def judged(
        self,
        status: Status,
        message: str,
        outcome: Outcome,
        *,
        trouble: Trouble | None = None,
        outputs: list[Wrong] | None = None,
        **more: Any,
    ) -> Judged:
        """more: fields of the result; the hint is the case's, where it failed and no message tells more."""
        case = self.case
        more.setdefault("hint", "" if status == "pass" or self._tells_enough(trouble, outcome) else case.hint)
        shown = describe(self.exercise, self.args)
        more |= {"convention": case.convention, "aim": self.exercise.aim(case, self.args)}
        if status in ("fail", "error"):
            more.setdefault("flaw", self.flaw)
        result = CaseResult(case.name, status, case.bonus, message, shown, **more)
        return Judged(result, trouble=trouble, args=self.args, outputs=outputs, outcome=outcome)

    def _tells_enough(self, trouble: Trouble | None, outcome: Outcome) -> bool:
        """Whether the message names the line and the cure, so that a hint about the formula could only mislead: a
        finding of the emulator, unless the inputs are empty or lie in memory in a way that explains it; and an error in
        the first case, whose hint is where to begin. Of an instructor's case the hint is most of what is shown.
        """
        if self.case.hidden:
            return False
        tensors = [a for a in self.args if isinstance(a, torch.Tensor)]
        plain = all(t.is_contiguous() and t.numel() for t in tensors)
        found = bool(outcome.findings) or (trouble is not None and trouble.kind in ("finding", "not-emulated"))
        return found and plain or trouble is not None and self.case is self.exercise.cases[0]


def _judged(question: _Question) -> Judged:
    """Judgements in a row, of which the first that has something to say is the result."""
    how = question.how
    outcome = question.runner.call(question.args, fill=how.fill, decoy=how.decoy)
    if outcome.trouble:
        return _of_trouble(question, outcome, outcome.trouble)
    if question.case.raises:
        return _of_silence(question, outcome, question.case.raises)
    expected = expected_of(question.exercise, question.case, question.args, question.conventions)
    compared = compare_all(expected, outcome.outputs, question.exercise.named(question.args))
    return (
        _of_shapes(question, outcome, expected, compared)
        or _of_values(question, outcome, expected, compared)
        or _of_conduct(question, outcome, expected, compared)
    )


def _of_trouble(question: _Question, outcome: Outcome, trouble: Trouble) -> Judged:
    """A call that gave no result: right where it should raise this error, with this message."""
    case = question.case
    if case.raises and trouble.kind == "raised" and trouble.error == case.raises.__name__:
        as_pytorch = question.conventions == "pytorch" and case.convention  # its message names the label alone
        if as_pytorch or re.search(case.says, trouble.message):
            return question.judged("pass", f"raised {trouble.message}", outcome)
        message = f"The message should name the first bad place and its value; it says: {trouble.message}"
        return question.judged("fail", message, outcome, flaw=Flaw.TEXT)
    flaw = Flaw.WHOLE if trouble.kind in UNJUDGED else None if trouble.kind == "timeout" else question.flaw
    return question.judged(
        "fail" if trouble.kind in ("finding", "refused") else "error",
        trouble.place + trouble.message,
        outcome,
        trouble=trouble,
        details=trouble.details,
        kind=None if trouble.kind in (*UNJUDGED, "timeout", "not-emulated") else Quality.CORRECT,
        cause=trouble.cause,
        flaw=flaw,
        near=0.0,
    )


def _of_silence(question: _Question, outcome: Outcome, raises: type[Exception]) -> Judged:
    """A call that should have raised and returned. Evidence of a bug are the elements that no reading of it makes
    right: what is right where the bad input is left out is none.
    """
    exercise, case, outputs = question.exercise, question.case, None
    if case.repaired is not None:
        args = case.repaired(question.args)
        expected = expect(exercise, case, args)
        found = compare_all(expected, outcome.outputs, exercise.named(args))
        if any(c.failure for c in found) and not any(c.complaint for c in found):
            outputs = evidence_of(expected, found, outcome.outputs)
    message = f"This call should raise {raises.__name__}, but it returned."
    return question.judged("fail", message, outcome, outputs=outputs, near=0.0)


def _of_shapes(question: _Question, outcome: Outcome, expected: Expected, compared: list[Comparison]) -> Judged | None:
    complaint = next((c.complaint for c in compared if c.complaint), "")
    if not complaint:
        return None
    share = near(expected, outcome.outputs)
    flaw = Flaw.DTYPE if share == 1 else question.flaw
    return question.judged("fail", complaint, outcome, hint="", flaw=flaw, near=share)


def _of_values(question: _Question, outcome: Outcome, expected: Expected, compared: list[Comparison]) -> Judged | None:
    failure = next((c.failure for c in compared if c.failure), None)
    if failure is None:
        return None
    finding = outcome.findings[0] if outcome.findings else None
    hints = [hint.message for hint in outcome.hints if hint.kind != "masked-load"]  # reported where it is proven
    if outcome.mutated and finding and finding.kind == "unwritten":
        mixed_up = "are the launch's arguments in the order of the kernel's parameters?"
        hints = [f"The input {outcome.mutated[0]} was changed instead: {mixed_up}"]
    message = f"{failure.output} is wrong in {failure.wrong:,} of {failure.total:,} elements."
    return question.judged(
        "fail",
        " ".join([message, *([finding.message] if finding else []), *hints[:1]]),
        outcome,
        outputs=evidence_of(expected, compared, outcome.outputs),
        failure=failure,
        near=near(expected, outcome.outputs),
        flaw=Flaw.NUMBERS if all(map(math.isfinite, (failure.expected, *failure.inputs.values()))) else question.flaw,
        **_distance(compared),
        curve=curve_of(question.exercise, question.case, question.args, expected, compared),
        cause=finding.cause if finding else _cause(failure),
    )


def _of_conduct(question: _Question, outcome: Outcome, expected: Expected, compared: list[Comparison]) -> Judged:
    """Of right values: whether they came about in a right way, again and in any order."""
    exercise, case, args = question.exercise, question.case, question.args
    fault = _misdeed(outcome) or unsteady(
        exercise, case, args, question.backend, question.runner, outcome, expected, question.how
    )
    far = _distance(compared)
    if fault:
        fields: Fields = far | {"kind": fault.kind, "cause": fault.cause}
        fields |= {
            "flaw": None if fault.late else Flaw.CONDUCT if fault.near == 1 else question.flaw,
            "near": fault.near,
        }
        fields["hint"] = case.hint if case.hidden else ""  # which is about values
        return question.judged("error" if fault.late else "fail", fault.message, outcome, trouble=fault.late, **fields)
    most = max(compared, key=lambda c: c.used)
    message = used(most.used, most.error_there, most.allowed_there, most.step_there)
    curve = curve_of(exercise, case, args, expected, compared) if question.curve else None
    return question.judged("pass", message, outcome, **far, curve=curve)


def _distance(compared: list[Comparison]) -> Fields:
    """Of the outputs from what is right: the largest error in ulp, and the largest share of the tolerance."""
    return {"worst_ulp": max(c.worst for c in compared), "margin": max(c.used for c in compared)}


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


def describe(exercise: Exercise, args: Args) -> str:
    """The arguments in words: ``dy: float16 (11, 101) strides (202, 2), eps: 1e-05``."""
    words = []
    for name, value in zip(exercise.parameters, args, strict=False):
        if isinstance(value, torch.Tensor):
            strides = "" if value.is_contiguous() else f" strides {value.stride()}"
            words.append(f"{name}: {dtype_name(value.dtype)} {tuple(value.shape)}{strides}")
        else:
            words.append(f"{name}: {value!r}")
    return ", ".join(words)
