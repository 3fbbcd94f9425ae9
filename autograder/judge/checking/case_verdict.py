"""One case of an exercise: call the answer twice, compare with the oracle, and say in one sentence what is wrong."""

import math
import re
from collections.abc import Container, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import torch

from ...gpu import RULES, Finding
from ...runner import Args, Examined, Outcome, Tree, Trouble
from ...words import Quality, count
from ..comparing.closeness import Comparison, Expected, Wrong, compare_all, evidence_of, expect, near
from ..comparing.fault import FILLED, Fault, counted, of_lanes, worst
from ..comparing.form import FormFault, as_asked, as_given, between_elements, relisted, reshaped
from ..comparing.trial import Trial, describe
from ..explaining.fingerprint import Evidence
from ..explaining.up_to import Factors, but_for_its_graph, up_to
from ..records.category import Category, Flaw
from ..records.ulp import HALVES
from ..report.distance import used
from ..results.case_result import CaseResult, CaseStatus, Failure
from ..results.sentences import ROUNDING, VALUES
from .determinism import unsteady
from .rows_alone import NEIGHBOURS, changed_by_neighbours

# Troubles of the whole answer: its values are unknown, and no other case can do better.
UNJUDGED = ("stub", "refused", "unloadable")
_FINISHED = FormFault(
    "finished",
    "",
    "PyTorch divides or multiplies the sum at the end, which is a launch more. Do it in the kernel, before the store.",
)
Fields = dict[str, Any]  # of a `CaseResult`, by name

_OF_TRITON = re.compile(r" ?\(In Triton, [^)]*\)")
REFUSALS = ("ValueError", "IndexError", "AssertionError")  # errors by which an answer refuses bad input
LISTED = 3  # outputs that are counted beside the first
GROSS = 64.0  # ulp: rounding does not explain what is farther off,
GROSS_FLOAT8 = 1.0  # nor this in a float8, which has 8 steps between two powers of 2, or 4


@dataclass
class Judged:
    """A result, and what the rest of the check needs of it: the trouble that stopped it, the outputs that were
    wrong. compared: its outputs, where an element is wrong or nothing is. unexplained: whether nothing says why.
    relation: how wrong values are related to right ones, at the end of the result's message; or "". form: what is wrong
    with the form of the outputs, in a sentence; or "". up_to: all that makes the outputs right.
    """

    result: CaseResult
    _: KW_ONLY
    trouble: Trouble | None = None
    args: Args = ()
    expected: Expected | None = None
    outputs: list[Wrong] | None = None  # all of them, where one is wrong
    outcome: Outcome | None = None
    compared: tuple[Comparison, ...] = ()
    unexplained: bool = False
    relation: str = ""
    form: str = ""
    up_to: Factors = ()

    @property
    def evidence(self) -> Evidence | None:
        """Returns what tells one bug from another: wrong outputs, or the name of the error that was raised."""
        if self.result.status == "pass":
            return None
        return self.outputs or (self.trouble.error if self.trouble else "") or None


def judge_case(trial: Trial) -> Judged:
    """Calls the answer on the case's arguments, and once more, in Triton with the programs of every launch in another
    order and, where a load has masked-off lanes without ``other``, with other numbers in these lanes (`unsteady`).
    Where an answer with such lanes is wrong, all of it again on the same numbers with 0 in the lanes: an answer that is
    right then fails only because it relies on them.
    """
    judged = _judged(trial)
    if judged.result.status in ("pass", "not-run") or not (judged.outcome and judged.outcome.undefined):
        return judged
    if judged.result.kind == Quality.PORTABLE:
        return judged
    filled = _judged(trial.filled(0.0))
    return unportable(judged, judged.outcome.hints) if filled.result.status == "pass" else judged


def unportable(judged: Judged, hints: tuple[Finding, ...]) -> Judged:
    """A failure that filling the masked-off lanes with 0 cures: today's NVIDIA backends do, and none has to."""
    fault = of_lanes(hints, f"{FILLED}, the result is right.", Quality.PORTABLE)
    failing = replace(judged.result, status="fail", message=fault.message, details="", hint="")
    failing = replace(failing, kind=fault.kind, code=fault.code, place=fault.place, flaw=Flaw.EFFECT, near=1.0)
    return replace(judged, result=failing, trouble=None, outputs=None, unexplained=False)


def _judged(trial: Trial) -> Judged:
    """The result of the first question to which there is something to say."""
    examined = trial.runner.examine(trial.call)
    case, outcome = _CalledTrial(trial, examined.first), examined.first
    if outcome.trouble:
        return case.stopped(outcome.trouble)
    if trial.expected is None:
        return case.silent()
    outputs, form = as_asked(trial.expected, outcome.outputs)
    compared = compare_all(trial.expected, outputs, trial.named)
    findings = counted(trial.expected, outcome.findings)
    case = _CalledTrial(trial, replace(outcome, outputs=outputs, findings=findings), form)
    return (
        case.misshapen(trial.expected, compared)
        or case.wrong(trial.expected, compared)
        or case.right(trial.expected, compared, examined)
    )


@dataclass(frozen=True)
class _CalledTrial:
    """A trial whose call was made, and what came of it."""

    trial: Trial
    outcome: Outcome
    form: FormFault | None = None  # of the outputs as they came; those of ``outcome`` are as asked

    @property
    def _written(self) -> dict[str, torch.Tensor]:
        """Returns what came in of the tensors that the answer writes in place."""
        return self.trial.exercise.contract.written(self.trial.args)

    def judged(
        self,
        status: CaseStatus,
        message: str,
        *,
        trouble: Trouble | None = None,
        outputs: list[Wrong] | None = None,
        compared: Sequence[Comparison] = (),
        unexplained: bool = False,
        up_to: Factors = (),
        **more: Any,
    ) -> Judged:
        """The judgement with this result. more: fields of the result; the hint is the case's, where it failed and no
        message tells more.
        """
        exercise, case, args = self.trial.exercise, self.trial.case, self.trial.args
        more.setdefault("hint", "" if status == "pass" or self._tells_enough(trouble) else self._hint)
        category = exercise.category(case, args)
        if case.each_row_alone and status != "pass" and more.get("code") != NEIGHBOURS:
            category = Category.PLAIN  # values that are wrong are no matter of the rows beside them
        if more.get("code") == NEIGHBOURS:
            category = Category.POINT
        more |= {"convention": case.convention, "category": category}
        more["half"] = any(t.dtype in HALVES for t in Tree(args).tensors)
        more["strided"] = not all(t.is_contiguous() for t in Tree(args).tensors)
        more.setdefault("near", 1.0)
        more.setdefault("form", self.form.code if self.form else "")
        if status in ("fail", "error") and more.get("flaw", Flaw.VALUES) is Flaw.VALUES:
            more["flaw"] = exercise.flaw_of_values(case, category)
        result = CaseResult(case.name, status, case.bonus, message, describe(exercise, args), **more)
        return Judged(
            result,
            trouble=trouble,
            args=args,
            expected=self.trial.expected,
            outputs=outputs,
            outcome=self.outcome,
            compared=tuple(compared),
            unexplained=unexplained,
            form=self.form.message if self.form else "",
            up_to=up_to,
        )

    @property
    def _hint(self) -> str:
        """The case's, without what is said of Triton alone where PyTorch answers."""
        hint = self.trial.case.hint
        return hint if self.trial.settings.backend == "triton" else _OF_TRITON.sub("", hint)

    def _tells_enough(self, trouble: Trouble | None) -> bool:
        """Returns whether the message names the line and the cure, so that a hint about the formula could only mislead:
        a finding of the emulator or a conversion, unless the inputs explain it (`_plain`), and elements that were never
        written whatever the inputs are; and an error in the first case, whose hint is where to begin. Of an
        instructor's case the hint is most of what is shown.
        """
        trial = self.trial
        if trial.case.hidden:
            return False
        explaining = ("finding", "not-emulated", "converted")
        if any(finding.kind == "unwritten" for finding in self.outcome.findings):
            return True
        has_finding = bool(self.outcome.findings) or (trouble is not None and trouble.kind in explaining)
        return (has_finding and _plain(trial.args)) or (trouble is not None and trial.is_first)

    def stopped(self, trouble: Trouble) -> Judged:
        """A call that gave no result: right where it should raise this error, with this message."""
        case = self.trial.case
        if case.raises and trouble.kind == "raised" and trouble.error == case.raises.__name__:
            # PyTorch's message names the label alone.
            as_pytorch = self.trial.settings.conventions == "pytorch" and case.convention
            if as_pytorch or re.search(case.says, trouble.message):
                return self.judged("pass", f"raised {trouble.message}")
            message = f"The message should say what is bad, and its value; it says: {trouble.message}"
            fields: Fields = {"flaw": Flaw.FORM, "form": "text", "code": "error-text", "place": trouble.error}
            return self.judged("fail", message, **fields)
        if case.raises and trouble.error in REFUSALS:
            message = f"This call should raise {case.raises.__name__}; it raised {trouble.message}"
            fields = {"flaw": Flaw.FORM, "form": "error", "code": "form", "place": trouble.error}
            return self.judged("fail", message, trouble=trouble, **fields)
        return self.judged(
            "fail" if trouble.kind in ("finding", "refused", "converted") else "error",
            trouble.sentence,
            trouble=trouble,
            details=trouble.details,
            kind=None if trouble.kind in (*UNJUDGED, "converted", "timeout", "not-emulated") else Quality.CORRECT,
            code=trouble.reason,
            place=trouble.at,
            flaw=Flaw.WHOLE if trouble.kind in UNJUDGED else Flaw.VALUES,
            near=0.0,
            up_to=self._but_for_its_graph(trouble),
        )

    def _but_for_its_graph(self, trouble: Trouble) -> Factors:
        expected = self.trial.expected
        if expected is None or trouble.code != Trouble.UNATTACHED:
            return ()
        return but_for_its_graph(expected, self.outcome.outputs)

    def silent(self) -> Judged:
        """A call that should have raised and returned. Evidence of a bug are the elements that no reading of it makes
        right; what is right where the bad input is left out is not.
        """
        exercise, case, outputs = self.trial.exercise, self.trial.case, None
        if case.repaired is not None:
            args = case.repaired(self.trial.args)
            expected = expect(exercise, case, args)
            comparisons = compare_all(expected, self.outcome.outputs, exercise.named(args))
            if any(c.failure for c in comparisons) and not any(c.complaint for c in comparisons):
                outputs = evidence_of(expected, comparisons, self.outcome.outputs)
        error = case.raises.__name__ if case.raises else "an error"
        message = f"This call should raise {error}, but it returned."
        return self.judged("fail", message, outputs=outputs, near=0.0, code="no-error", place=error)

    def misshapen(self, expected: Expected, compared: list[Comparison]) -> Judged | None:
        """The judgement where an output has another shape or dtype, and no numbers for the right one."""
        unlike = ((name, c.complaint) for name, c in zip(expected.names, compared, strict=True) if c.complaint)
        name, complaint = next(unlike, ("", ""))
        if not complaint:
            return None
        share = near(expected, self.outcome.outputs)
        message = self.form.message if self.form else complaint
        return self.judged("fail", message, hint="", near=share, code="form", place=name)

    def wrong(self, expected: Expected, compared: list[Comparison]) -> Judged | None:
        """The judgement where an element lies outside the tolerance."""
        failure = next((c.failure for c in compared if c.failure), None)
        if failure is None:
            return None
        outcome = self.outcome
        finding = worst(outcome.findings)
        undefined = finding is not None and RULES[finding.kind].undefined  # a GPU has other values, near as these are
        message = f"{_counted(compared)}."
        message = f"{self.form.message} {message}" if self.form else message
        explained = " ".join(
            filter(None, [finding.message if finding else "", self._explanation(failure, expected, compared)])
        )
        changed = "" if explained else self._changed  # said first: the values may be wrong because of it
        message = f"{changed} {message}" if changed else message
        where_to_begin: Fields = {"hint": ""} if explained and self.trial.is_first else {}
        return self.judged(
            "fail",
            f"{message} {explained}".rstrip(),
            **where_to_begin,
            outputs=evidence_of(expected, compared, outcome.outputs),
            compared=compared,
            unexplained=not (explained or changed),
            failure=failure,
            near=0.0 if undefined else near(expected, outcome.outputs),
            up_to=() if undefined else up_to(self.trial, expected, compared, outcome.outputs),
            **_distance(compared),
            code=finding.kind if finding else _code(failure),
            place=finding.place if finding else failure.output,
        )

    @property
    def _changed(self) -> str:
        """The sentence on an input that was changed and was not to be; "" where there is none."""
        return next((_changed(name) for name in self.outcome.mutated if name not in self._written), "")

    def _explanation(self, failure: Failure, expected: Expected, compared: list[Comparison]) -> str:
        """Returns what most likely explains wrong values; "" where nothing does."""
        outcome, number = self.outcome, expected.names.index(failure.output)
        left = mixed_up = ""
        before = self._written.get(failure.output)
        if before is not None:
            whose = "They" if sum(c.failure is not None for c in compared) == 1 else f"Those of {failure.output}"
            left = as_given(whose, before, outcome.outputs[number], compared[number])
        if outcome.mutated and (left or (outcome.findings and outcome.findings[0].kind == "unwritten")):
            order = "are the launch's arguments in the order of the kernel's parameters?"
            mixed_up = f"The input {outcome.mutated[0]} was changed instead: {order}"
        hints = [hint.message for hint in outcome.hints if RULES[hint.kind].in_check == "explains"]
        beside = between_elements(self._written, outcome) or relisted(outcome)
        return next(filter(None, (beside, mixed_up, left, *hints)), "")

    def right(self, expected: Expected, compared: list[Comparison], examined: Examined) -> Judged:
        """The judgement of right values: whether they came about in a right way, again and in any order."""
        fault = _misdeed(self._written, self.outcome) or unsteady(self.trial, expected, examined)
        fault = fault or _aliased(examined.again) or changed_by_neighbours(self.trial, examined)
        # The second call is a replay, whose account of the first replaces that of the answer's own process.
        judged = replace(self, outcome=replace(examined.first, outputs=self.outcome.outputs)).judged
        far = _distance(compared)
        if fault:
            fields: Fields = far | {"kind": fault.kind, "code": fault.code, "place": fault.place}
            fields |= {"flaw": fault.flaw, "near": fault.near}
            fields["hint"] = self.trial.case.hint if self.trial.case.hidden else ""  # which is about values
            return judged("error" if fault.late else "fail", fault.message, trouble=fault.late, **fields)
        if form := self.form or (_FINISHED if examined.first.finished else None):
            given: Fields = far | {"flaw": Flaw.FORM, "form": form.code, "code": f"form {form.code}"}
            return judged("fail", form.message, hint="", place=form.place, **given)
        most = max(compared, key=lambda c: c.used)
        message = used(most.used, most.error_there, most.allowed_there, most.step_there, most.whole)
        return judged("pass", message, compared=compared, **far)


def _plain(args: Args) -> bool:
    """Returns whether no tensor is empty, lies in memory in another order than its own, or holds a negative integer,
    which is no index.
    """
    tensors = Tree(args).tensors
    negative = any(bool((t < 0).any()) for t in tensors if not t.is_floating_point() and t.dtype != torch.bool)
    return not negative and not Tree(args).any_empty and all(t.is_contiguous() for t in tensors)


def _distance(compared: list[Comparison]) -> Fields:
    """Says how far the outputs are from what is right: the largest error in ulp, the largest share of the tolerance."""
    in_ulp = [c.worst for c in compared if not c.whole]
    return {"worst_ulp": max(in_ulp, default=None), "margin": max(c.used for c in compared)}


def _counted(compared: Sequence[Comparison]) -> str:
    """``dx is wrong in 3 of 4 elements, dweight in 2 of 2``; of a list that an answer writes `LISTED` more at most."""
    wrong = [c.failure for c in compared if c.failure]
    others = [f", {failure.output} in {failure.wrong:,} of {failure.total:,}" for failure in wrong[1:]]
    more = f", and {count(len(others) - LISTED, 'more output')}" if others[LISTED:] else ""
    first = f"{wrong[0].output} is wrong in {wrong[0].wrong:,} of {wrong[0].total:,} elements"
    return f"{first}{''.join(others[:LISTED])}{more}"


def _code(failure: Failure) -> str:
    """Returns what is wrong with the worst element, without its place, value and sign: random numbers decide them."""
    got, expected = (_number_kind(value) for value in (failure.got, failure.expected))
    if got != expected:
        return f"{got}-for-{expected}"
    if math.isinf(failure.got):
        return "other-infinity"
    gross = GROSS_FLOAT8 if failure.codes else GROSS
    return VALUES if failure.ulp > gross or isinstance(failure.got, int) else ROUNDING


def _number_kind(value: float) -> str:
    if math.isnan(value):
        return "nan"
    return "number" if math.isfinite(value) else "infinity"


def _changed(name: str) -> str:
    return f"The answer changed its input {name}. The caller may still need it: write into a new tensor."


def _misdeed(written: Container[str], outcome: Outcome) -> Fault | None:
    """Returns what a right result does not excuse."""
    if finding := worst(outcome.findings):
        return Fault.of(finding)
    if stray := between_elements(written, outcome):
        return Fault(stray, "between-elements", next(name for name in outcome.mutated if name in written))
    if stray := relisted(outcome):
        return Fault(stray, "relisted", outcome.relisted[0])
    if stray := reshaped(outcome):
        return Fault(stray, "changed", outcome.reshaped[0])
    if outcome.mutated:
        return Fault(_changed(outcome.mutated[0]), "changed", outcome.mutated[0])
    return _aliased(outcome)


def _aliased(outcome: Outcome) -> Fault | None:
    """Returns the input whose memory an output shares; of an isolated Triton answer its replay tells it, too."""
    if not outcome.aliased:
        return None
    message = f"An output shares memory with the input {outcome.aliased[0]}. Return a tensor of its own."
    return Fault(message, "aliased", outcome.aliased[0])
