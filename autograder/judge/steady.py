"""Whether a right result is one by right: the same for the same input, in any order of the programs, and right for
unforeseeable numbers.
"""

import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from ..exercises.record import Case, Exercise
from ..results.quality import Quality
from ..run.contract import Args
from ..run.outcome import Outcome, Trouble
from ..run.runner import Decoys, Runner
from ..sandbox.wire.buffers import bits
from . import lanes
from .compare import Comparison, Expected, compare, compare_all, expect, near
from .fault import Fault

_LENIENT = 4  # times the tolerance, on numbers that no later run can bring back
_OTHER = "on other random numbers of the same shape. What it computes must follow from its inputs alone."


class Options(NamedTuple):
    """Of every call: see `Runner`."""

    decoy: Decoys
    fill: float | None


def unsteady(
    exercise: Exercise,
    case: Case,
    args: Args,
    backend: str,
    runner: Runner,
    first: Outcome,
    expected: Expected,
    how: Options,
) -> Fault | None:
    """Whether the same input gives other bits, the programs of a launch in another order or masked-off lanes that hold
    something else another result, or numbers that nobody could foresee a wrong one. how: the options of the first call.

    In another order bits may differ within the tolerance, as those of a sum by atomics do. Where a load has such lanes,
    without ``other``, the second call has 0 in them, and a third a large number.
    """
    # The order comes from the name: it goes where the answer runs, and the seed of the inputs must not.
    shuffle = zlib.crc32(case.name.encode()) if backend == "triton" else None
    undefined = first.undefined and how.fill is None
    again = runner.confirm(args, shuffle=shuffle, fill=0.0 if undefined else how.fill, decoy=how.decoy)
    if again.trouble:
        return _second_trouble(again.trouble)
    if again.findings:
        return Fault(again.findings[0].message, cause=again.findings[0].cause)
    unforeseen = _foreseen_only(exercise, case, first) or _foreseen_only(exercise, case, again)
    if unforeseen:
        return unforeseen

    def wrong(outcome: Outcome) -> str:
        return _wrong(compare_all(expected, outcome.outputs, exercise.named(args)))

    if not _same(first, again):
        in_order = again if backend == "torch" else runner.call(args, fill=how.fill)
        if in_order.trouble:
            return _second_trouble(in_order.trouble)
        if not _same(first, in_order):
            return Fault("The same input, given twice, gives different bits.")
        if wrong(again):
            with_zeros = _refilled(runner, args, 0.0, wrong) if undefined else ""
            if with_zeros:
                return lanes.fault(first.hints, f"{lanes.FILLED}, {with_zeros}.", Quality.CORRECT)
            order = "The result depends on the order in which the programs of the grid run. A GPU promises no order."
            return Fault(order, Quality.PORTABLE)
    large = _refilled(runner, args, lanes.LARGE, wrong) if undefined else ""
    if large:
        ending = f"{lanes.FILLED}, the result is right; with {lanes.LARGE:,.0f} in them {large}."
        return lanes.fault(first.hints, ending, Quality.PORTABLE)
    return None


def _wrong(comparisons: list[Comparison]) -> str:
    """In a few words what is wrong with a result, "" where nothing is."""
    for one in comparisons:
        if one.complaint or one.failure:
            return f"{one.failure.output} is wrong" if one.failure else "its shape or dtype is wrong"
    return ""


def _refilled(runner: Runner, args: Args, fill: float, wrong: Callable[[Outcome], str]) -> str:
    """What is wrong with the result where masked-off lanes hold ``fill``."""
    outcome = runner.refill(args, fill)
    return "the launch fails" if outcome.trouble else wrong(outcome)


def _second_trouble(trouble: Trouble) -> Fault:
    if trouble.kind == "refused":  # an isolated runner proves the method in the second call
        return Fault(trouble.message, near=0.0)
    message = f"The second call with the same input failed: {trouble.message}"
    late = trouble if trouble.kind == "timeout" or trouble.cell else None
    return Fault(message, None if late else Quality.CORRECT, trouble.cause, late, near=0.0)


def _foreseen_only(exercise: Exercise, case: Case, outcome: Outcome) -> Fault | None:
    """What is wrong with the result for numbers that were drawn for this call alone.

    A table is wrong by far. What is near the edge of the tolerance is settled by the case's own numbers.
    """
    if outcome.decoy is None or not outcome.decoy[0].valid:
        return None
    decoy, came = outcome.decoy
    if came.trouble:
        return Fault(f"On other random numbers of the same shape it fails: {came.trouble.message}", near=0.0)
    expected = expect(exercise, case, decoy.args)
    message = fault_in(expected, came.outputs, exercise.named(decoy.args), _OTHER)
    return Fault(message, near=near(expected, came.outputs)) if message else None


def fault_in(expected: Expected, outputs: Args, named: dict[str, Any], where: str) -> str:
    """What is wrong with results for numbers that no later run can bring back; "" where they are near what is right.

    named: the arguments by their name. where: the end of the sentence that counts wrong elements.
    """
    expected = replace(expected, allowed=tuple(_LENIENT * a for a in expected.allowed))
    for index, output in enumerate(outputs):
        comparison = compare(expected, index, output, named)
        if comparison.complaint:
            return comparison.complaint
        if comparison.failure:
            wrong = f"{comparison.failure.wrong:,} of {comparison.failure.total:,} elements"
            return f"{comparison.failure.output} is wrong in {wrong} {where}"
    return ""


def _same(one: Outcome, other: Outcome) -> bool:
    """Whether two calls gave the same bits: NaN compares like any other pattern."""
    pairs = list(zip(one.outputs, other.outputs, strict=True))
    return all(a.shape == b.shape and a.dtype == b.dtype and bits(a).equal(bits(b)) for a, b in pairs)
