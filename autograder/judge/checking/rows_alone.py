"""A row's result, and how it is computed, whatever rows are beside it: in a case that asks for it."""

import math
from dataclasses import replace

import torch
from torch import Tensor

from ...gpu import KernelLaunch
from ...runner import Args, Examined
from ...words import count
from ..batches.compositions import Composition, compositions
from ..batches.dependence import Difference, difference
from ..comparing.fault import Fault
from ..comparing.trial import Trial
from ..records.category import Flaw

NEIGHBOURS = "neighbours"
ONE_PROGRAM = (
    "One program does the whole row, and a GPU has more than a hundred multiprocessors: cut a long row into parts that "
    "follow its length alone, and sum each part in a program of its own."
)
BY_ATOMICS = (
    "Floats are added up by `tl.atomic_add`, in whatever order the programs come: on a GPU the same call gives other "
    "bits. Store each part, and add up the parts in a second launch."
)


def changed_by_neighbours(trial: Trial, examined: Examined) -> Fault | None:
    """The fault of an answer whose rows have other bits in a batch of other rows; None where there is none, or the case
    does not ask. Sums by atomics have nobody's order, and where the work is to be shared one program is too few. Rows
    are dimension 0 of the first argument and of each output.
    """
    if trial.case.shared and _by_one_program(examined):
        return Fault(ONE_PROGRAM, NEIGHBOURS, flaw=Flaw.VALUES)
    if not trial.case.each_row_alone:
        return None
    if "atomic sum" in examined.first.looser:
        return Fault(BY_ATOMICS, NEIGHBOURS, flaw=Flaw.VALUES)
    rows, sizes = len(trial.args[0]), set[int]()
    for composition in compositions(rows):
        if not composition.beside and (fault := _in(composition, trial, examined, len(composition.rows) not in sizes)):
            return fault
        sizes.add(len(composition.rows))
    return None


def _by_one_program(examined: Examined) -> bool:
    """Returns whether each launch has one program; of a launch whose grid is not known that is not said."""
    launches = [launch for launch in examined.first.launches if isinstance(launch, KernelLaunch)]
    grids = [launch.size.get("grid") for launch in launches]
    return bool(grids) and all(grid is not None and math.prod(grid) == 1 for grid in grids)


def _in(composition: Composition, trial: Trial, examined: Examined, followed: bool) -> Fault | None:
    """The fault that one other batch shows. followed: whether histories are compared, too: they differ where something
    is computed otherwise, whatever the bits.
    """
    rows, called = len(trial.args[0]), _called(composition, trial)
    outcome = called.proven
    if outcome.trouble:
        message = f"Called on {composition.what} of its {rows}, it fails: {outcome.trouble.sentence}"
        return Fault(message, NEIGHBOURS, flaw=Flaw.VALUES)
    names = [output.name for output in trial.exercise.results(trial.args)]
    if len(outcome.outputs) != len(names):
        results = count(len(outcome.outputs), "result")
        message = f"Called on {composition.what} of its {rows}, it gives {results}, not {len(names)}."
        return Fault(message, NEIGHBOURS, flaw=Flaw.VALUES)
    places = list(composition.compared)
    of = [composition.rows[at] for at in places]
    for number, (here, whole) in enumerate(zip(outcome.outputs, examined.first.outputs, strict=True)):
        apart = difference(composition.what, len(composition.rows), names[number], here[places], whole[of], of, places)
        if apart:
            parts = _parting(apart, number, _arguments(composition, trial.args), examined)
            return Fault(_sentence(apart, rows) + parts, NEIGHBOURS, names[number], flaw=Flaw.VALUES)
    pairs = zip(called.histories, examined.histories, strict=False) if followed else ()
    for number, (now, before) in enumerate(pairs):
        differ = now[places] != before[of]
        if outcome.outputs[number].is_floating_point() and differ.any():
            place, *element = differ.nonzero()[0].tolist()
            first = of[place], places[place], tuple(element)
            apart = Difference(
                composition.what, len(composition.rows), names[number], int(differ.sum()), differ.numel(), *first
            )
            parts = _parting(apart, number, _arguments(composition, trial.args), examined)
            said = f"A row's result depends on the rows beside it. {_capital(apart.sentence(rows))}.{parts}"
            return Fault(said, NEIGHBOURS, names[number], flaw=Flaw.VALUES)
    return None


def _called(composition: Composition, trial: Trial) -> Examined:
    layouts = tuple((dtype, torch.Size((len(composition.rows), *shape[1:]))) for dtype, shape in trial.call.layouts)
    call = replace(
        trial.call, args=_arguments(composition, trial.args), layouts=layouts, order=None, probe_input=None, fresh=True
    )
    return trial.runner.examine(call)


def _arguments(composition: Composition, args: Args) -> Args:
    first = args[0]
    assert isinstance(first, Tensor)
    return first[list(composition.rows)], *args[1:]


def _sentence(difference: Difference, rows: int) -> str:
    apart = f", {difference.ulp:.3g} ulp apart" if difference.ulp else ""
    at = ", ".join(map(str, (difference.row, *difference.element)))
    return (
        f"A row's result depends on the rows beside it. {_capital(difference.called)}: {difference.differ:,} of "
        f"{difference.compared:,} elements of {difference.output} have other bits than among {rows} rows; the first, "
        f"{difference.output}[{at}], is {difference.here} there and {difference.whole} here{apart}."
    )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _parting(apart: Difference, output: int, args: Args, examined: Examined) -> str:
    """Where the two computations part, as a sentence; "" where that is not known."""
    values = examined.parting(args, output, (apart.row, *apart.element), (apart.place, *apart.element))
    return " They part: there {1}, here {0}.".format(*values) if values else ""
