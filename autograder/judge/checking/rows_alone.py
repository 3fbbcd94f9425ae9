"""Whether a row's result has the same bits whatever rows are beside it, in a case that asks for it."""

from dataclasses import replace

import torch
from torch import Tensor

from ...runner import Args, Examined, Outcome
from ..batches.compositions import Composition, compositions
from ..batches.dependence import Difference, difference
from ..comparing.fault import Fault
from ..comparing.trial import Trial
from ..records.aim import Flaw

NEIGHBOURS = "neighbours"


def changed_by_neighbours(trial: Trial, examined: Examined) -> Fault | None:
    """The fault of an answer whose rows have other bits in a batch of other rows; None where there is none, or the case
    does not ask. Rows are dimension 0 of the first argument and of each output.
    """
    if not trial.case.each_row_alone:
        return None
    rows = len(trial.args[0])
    for one in compositions(rows):
        if not one.beside and (fault := _in(one, trial, examined, rows)):
            return fault
    return None


def _in(one: Composition, trial: Trial, examined: Examined, rows: int) -> Fault | None:
    """The fault that one other batch shows."""
    came = _called(one, trial)
    if came.trouble:
        message = f"Called on {one.what} of its {rows}, it fails: {came.trouble.sentence}"
        return Fault(message, NEIGHBOURS, flaw=Flaw.VALUES)
    names = [output.name for output in trial.exercise.results(trial.args)]
    places = list(one.compared)
    of = [one.rows[at] for at in places]
    for number, (here, whole) in enumerate(zip(came.outputs, examined.first.outputs, strict=True)):
        told = difference(one.what, len(one.rows), names[number], here[places], whole[of], of, places)
        if told:
            parts = _parting(told, number, _arguments(one, trial.args), examined)
            return Fault(_sentence(told, rows) + parts, NEIGHBOURS, names[number], flaw=Flaw.VALUES)
    return None


def _called(one: Composition, trial: Trial) -> Outcome:
    layouts = tuple((dtype, torch.Size((len(one.rows), *shape[1:]))) for dtype, shape in trial.call.layouts)
    call = replace(trial.call, args=_arguments(one, trial.args), layouts=layouts, order=None, decoy=None, fresh=True)
    return trial.runner.examine(call).proven


def _arguments(one: Composition, args: Args) -> Args:
    first = args[0]
    assert isinstance(first, Tensor)
    return first[list(one.rows)], *args[1:]


def _sentence(told: Difference, rows: int) -> str:
    apart = f", {told.ulp:.3g} ulp apart" if told.ulp else ""
    at = ", ".join(map(str, (told.row, *told.element)))
    return (
        f"A row's result depends on the rows beside it. {told.called[0].upper()}{told.called[1:]}: "
        f"{told.differ:,} of {told.compared:,} elements of {told.output} have other bits than among {rows} rows; the "
        f"first, {told.output}[{at}], is {told.here} there and {told.whole} here{apart}."
    )


def _parting(told: Difference, output: int, args: Args, examined: Examined) -> str:
    """Where the two computations part, as a sentence; "" where that is not known."""
    found = examined.parting(args, output, (told.row, *told.element), (told.place, *told.element))
    return " They part: there {1}, here {0}.".format(*found) if found else ""
