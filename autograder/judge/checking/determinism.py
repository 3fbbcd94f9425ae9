"""Says whether a right result is right again: the same for the same input, in any order of the programs, and right for
numbers that nobody could foresee.
"""

from dataclasses import replace

import torch

from ...runner import Args, Examined, Outcome, ProbeInput, Tree, Trouble
from ...words import Quality
from ..comparing.closeness import Comparison, Expected, compare, compare_all, expect, near
from ..comparing.fault import FILLED, FURTHER, Fault, counted, of_lanes
from ..comparing.form import as_asked
from ..comparing.trial import Trial
from ..records.category import Flaw
from ..records.record import Floors

_PROBE_INPUTS = 16
_MOST = 0.5  # of the elements of an output
_LENIENT = 4  # times the tolerance, on numbers that no later run can bring back
FORESEEN = "foreseen"  # the code of a result that does not follow from its inputs
SUSPICION = " What it computes must follow from its inputs alone."  # said where nothing else is wrong: `hindsight`
_OTHER = f"on other random numbers of the same shape.{SUSPICION}"


def unsteady(trial: Trial, expected: Expected, examined: Examined) -> Fault | None:
    """The fault of an answer that gives other bits for the same input, another result where the programs of a launch
    run in another order or masked-off lanes hold something else, or a wrong one for numbers that nobody could foresee;
    None where there is none.

    In another order bits may differ within the tolerance, as those of a sum by atomics do. Where a load has such lanes,
    without ``other``, the second call has 0 in them, and further calls what else they may hold.
    """
    first, again = examined.first, examined.again
    if examined.method:
        return Fault(examined.method.sentence, "method", flaw=Flaw.VALUES, near=0.0)
    if again.trouble:
        return _second_trouble(again.trouble)
    if findings := counted(expected, again.findings):
        return Fault.of(findings[0])
    if unforeseen := _foreseen_only(trial, examined):
        return unforeseen

    def wrong(outcome: Outcome) -> str:
        return _wrong(compare_all(expected, as_asked(expected, outcome.outputs)[0], trial.named))

    def refilled(fill: float) -> str:
        outcome = examined.refilled(fill) if examined.poisoned else None
        return "" if outcome is None else "the launch fails" if outcome.trouble else wrong(outcome)

    if not _same(first, again, expected):
        in_order = examined.in_order
        if in_order.trouble:
            return _second_trouble(in_order.trouble)
        if not _same(first, in_order, expected):
            return Fault("The same input, given twice, gives different bits.", "other-bits")
        if wrong(again):
            if with_zeros := refilled(0.0):
                return of_lanes(first.hints, f"{FILLED}, {with_zeros}.", Quality.CORRECT)
            order = "The result depends on the order in which the programs of the grid run. A GPU promises no order."
            return Fault(order, "order", kind=Quality.PORTABLE)
    for name, value in FURTHER.items():
        if effect := refilled(value):
            ending = f"{FILLED}, the result is right; with {name} in them {effect}."
            return of_lanes(first.hints, ending, Quality.PORTABLE)
    return None


def _wrong(comparisons: list[Comparison]) -> str:
    """Returns what is wrong with a result in a few words; "" where nothing is."""
    for comparison in comparisons:
        if comparison.complaint or comparison.failure:
            return f"{comparison.failure.output} is wrong" if comparison.failure else "its shape or dtype is wrong"
    return ""


def _second_trouble(trouble: Trouble) -> Fault:
    message = f"The second call with the same input failed: {trouble.message}"
    late = trouble if trouble.kind == "timeout" or trouble.cell else None
    kind = None if late else Quality.CORRECT
    return Fault(message, trouble.code or "second-call", trouble.at, kind, late, Flaw.VALUES, near=0.0)


def _foreseen_only(trial: Trial, examined: Examined) -> Fault | None:
    """The fault of an answer whose result does not follow from its inputs: most of what it gives is wrong on each of
    `_PROBE_INPUTS` probe inputs. Errors that some draws show and others do not are left to the case's own numbers.
    """
    call, met = examined.call, examined.first.probe_input or examined.again.probe_input
    if met is None or not met[0].valid or call.probe_input is None:
        return None
    fault = _on_probe_input(trial, *met)
    for _ in range(_PROBE_INPUTS - 1):
        if fault is None:
            break
        probe_input = call.probe_input()
        fault = _on_probe_input(trial, probe_input, trial.runner.examine(replace(call, args=probe_input.args)).again)
    return fault


def _on_probe_input(trial: Trial, probe_input: ProbeInput, outcome: Outcome) -> Fault | None:
    if outcome.trouble:
        message = f"On other random numbers of the same shape it fails: {outcome.trouble.message}"
        return Fault(message, FORESEEN, flaw=Flaw.VALUES, near=0.0)
    known = trial.expected.estimate if trial.expected else None
    fault = _wrong_on(trial, probe_input, outcome, known)
    return _wrong_on(trial, probe_input, outcome, None) if fault and known else fault


def _wrong_on(trial: Trial, probe_input: ProbeInput, outcome: Outcome, estimate: Floors | None) -> Fault | None:
    """estimate: of the tolerance, that of the case's own numbers; the probe input's own where it is None, which takes
    long and alone decides against an answer.
    """
    expected = expect(trial.exercise, trial.case, probe_input.args, estimate=estimate)
    outputs, _ = as_asked(expected, outcome.outputs)
    message = fault_in(expected, outputs, trial.exercise.named(probe_input.args), _OTHER, share=_MOST)
    return Fault(message, FORESEEN, flaw=Flaw.VALUES, near=near(expected, outputs)) if message else None


def fault_in(expected: Expected, outputs: Args, named: dict[str, torch.Tensor], where: str, share: float = 0.0) -> str:
    """Returns what is wrong with results for numbers that no later run can bring back; "" where they are near what is
    right.

    named: the arguments by their name. where: the end of the sentence that counts wrong elements. share: of the
    elements of an output, which may be wrong.
    """
    expected = replace(expected, allowed=tuple(_LENIENT * a for a in expected.allowed))
    for index, output in enumerate(outputs):
        comparison = compare(expected, index, output, named)
        if comparison.complaint:
            return comparison.complaint
        failure = comparison.failure
        if failure and failure.wrong > share * failure.total:
            wrong = f"{failure.wrong:,} of {failure.total:,} elements"
            return f"{failure.output} is wrong in {wrong} {where}"
    return ""


def _same(outcome: Outcome, other: Outcome, expected: Expected) -> bool:
    """Returns whether two calls gave the same bits: NaN compares like any other pattern, and what may hold anything is
    left out.
    """
    first, second = outcome.outputs, other.outputs
    if expected.unwritten and [a.shape for a in first] == [b.shape for b in second]:
        free = [mask.reshape(a.shape) for mask, a in zip(expected.unwritten, first, strict=True)]
        first, second = (
            tuple(torch.where(left, torch.zeros_like(a), a) for a, left in zip(outputs, free, strict=True))
            for outputs in (first, second)
        )
    return Tree(first).same_bits(second)
