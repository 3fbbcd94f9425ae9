"""Why a row differs: what its result was computed from in each of two calls, and where the two part.

This asks the emulator for the history of each float (`gpu.emulator.history`). Two elements with two histories were
computed otherwise, whatever their bits.
"""

from torch import Tensor

from ...runner import FollowedCall
from .batch import Batch
from .compositions import Composition, compositions, whole_batch
from .dependence import Difference

NamedHistories = tuple[dict[str, Tensor], FollowedCall]  # the results of a call by name, and their histories
ASKED = 4  # batches in which histories are compared: row 0 alone comes first


def computed_otherwise(batch: Batch, outputs: list[str], left_out: dict[str, str]) -> list[Difference]:
    """The first call in which a result's floats have other histories than in the whole batch; none where they are the
    same, or nothing is emulated.
    """
    whole = _followed(batch, whole_batch(batch.rows), left_out)
    for one in [*compositions(batch.rows)][:ASKED] if whole else ():
        part = _followed(batch, one, left_out)
        if whole and part:
            found = (_other_history(one, output, part, whole) for output in outputs)
            if told := next(filter(None, found), None):
                return [told]
    return []


def where_they_part(batch: Batch, told: Difference) -> tuple[str, ...]:
    """Where the computation of the first element that differs parts from that in the whole batch, as lines of text;
    none where that is not known.
    """
    one = next((one for one in compositions(batch.rows) if one.what == told.called), None)
    if one is None or one.beside or told.raised:
        return ()
    part, whole = _followed(batch, one, {}), _followed(batch, whole_batch(batch.rows), {})
    if not part or not whole or not part[0][told.output].is_floating_point():
        return ()
    (here, call), (there, other) = part, whole
    at, index = [*here].index(told.output), (told.place, *told.element)
    found = call.element(at, index).parting(other.element([*there].index(told.output), (told.row, *told.element)))
    if found is None:
        return ()
    rows = "1 row" if told.rows == 1 else f"{told.rows} rows"
    lines = (f"  {line}" for line in found.lines)
    return f"They part here: with {rows} {found.here}; with {batch.rows} {found.there}", *lines


def _followed(batch: Batch, one: Composition, left_out: dict[str, str]) -> NamedHistories | None:
    """The results of a call, and the histories of its floats."""
    followed = batch.followed(one)
    if followed and followed[1].one_by_one:
        kernel, why = followed[1].one_by_one
        left_out["the order of sums"] = f"the programs of `{kernel}` ran one by one ({why}); bits were compared"
        return None
    return followed


def _other_history(one: Composition, output: str, part: NamedHistories, whole: NamedHistories) -> Difference | None:
    (here, call), (there, other) = part, whole
    if not here[output].is_floating_point() or here[output].itemsize == 1:
        return None
    differ = call.of(here[output]) != other.of(there[output])[list(one.rows)]
    if not differ.any():
        return None
    place, *element = (int(at[0]) for at in differ.nonzero())
    first = one.rows[place], place, tuple(element)
    return Difference(one.what, len(one.rows), output, int(differ.sum()), differ.size, *first)
