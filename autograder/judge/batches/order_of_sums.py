"""Why a row differs: what its result was computed from in each of two calls, and where the two part.

This asks the emulator for the history of each float (`gpu.emulator.history`). Two elements with two histories were
computed otherwise, whatever their bits.
"""

from collections.abc import Iterator
from typing import Any

from ...runner import FollowedCall
from .batch import Batch
from .called_function import NamedHistories
from .compositions import Composition, compositions, whole_batch
from .dependence import Difference

ASKED = 4  # batches in which histories are compared: row 0 alone comes first


def computed_otherwise(batch: Batch, outputs: list[str], left_out: dict[str, str]) -> list[Difference]:
    """The first call in which a result's floats have other histories than in the whole batch; none where they are the
    same, or nothing is emulated.
    """
    whole = _followed(batch, whole_batch(batch.rows), left_out)
    for composition in [*compositions(batch.rows)][:ASKED] if whole else ():
        part = _followed(batch, composition, left_out)
        if whole and part:
            differences = (_other_history(composition, output, part, whole) for output in outputs)
            if first := next(filter(None, differences), None):
                return [first]
    return []


def where_they_part(batch: Batch, difference: Difference) -> tuple[str, ...]:
    """Where the computation of the first element that differs parts from that in the whole batch, as lines of text;
    none where that is not known.
    """
    chosen = next(
        (composition for composition in compositions(batch.rows) if composition.what == difference.called), None
    )
    if chosen is None or chosen.beside or difference.raised:
        return ()
    part, whole = _followed(batch, chosen, {}), _followed(batch, whole_batch(batch.rows), {})
    if not part or not whole or not part[0][difference.output].is_floating_point():
        return ()
    words = "with 1 row" if difference.rows == 1 else f"with {difference.rows} rows", f"with {batch.rows}"
    return parting_lines(
        part,
        whole,
        difference.output,
        (difference.place, *difference.element),
        (difference.row, *difference.element),
        words,
    )


def parting_lines(
    part: NamedHistories,
    whole: NamedHistories,
    output: str,
    index: tuple[int, ...],
    whole_index: tuple[int, ...],
    words: tuple[str, str],
) -> tuple[str, ...]:
    """Returns where the computation of an element of one call parts from that of an element of the whole one, as lines
    of text: what was launched otherwise, then the step. words: the two calls.
    """
    (here, call), (there, other) = part, whole
    at, number = [*here].index(output), [*there].index(output)
    parting = call.element(at, index).parting(other.element(number, whole_index))
    otherwise = [f"Launched otherwise: {launch}" for launch in _launches(call, other, words)]
    if parting is None:
        return tuple(otherwise)
    mine, theirs = (followed.operator(n) for followed, n in ((call, at), (other, number)))
    steps = (mine, theirs) if parting.by_no_kernel and mine and theirs else (parting.here, parting.there)
    if steps[0] != steps[1]:
        said = f"They part here: {words[0]} {steps[0]}; {words[1]} {steps[1]}"
    elif parting.by_no_kernel and not mine:
        return tuple(otherwise)  # PyTorch alone computed
    else:
        said = f"They part here: {steps[0]}, of other numbers"
    return *otherwise, said, *(f"  {line}" for line in parting.lines)


def sums_by_atomics(whole: NamedHistories | None, outputs: list[str] | None = None) -> dict[str, str]:
    """Returns the results, by name, that more than two floats are added up for by atomics, each with where, in words:
    their order, and so their bits, is chance in every call on a GPU. outputs: the names that are asked about; all where
    it is None.
    """
    if whole is None:
        return {}
    names, call = [*whole[0]], whole[1]
    outputs = names if outputs is None else [output for output in outputs if output in names]
    places = {output: call.unordered(names.index(output)) for output in outputs}
    return {output: where for output, where in places.items() if where}


def _launches(call: FollowedCall, other: FollowedCall, words: tuple[str, str]) -> Iterator[str]:
    """The launches that do not merely have more programs for more rows, each in words."""
    for (kernel, grid, constants), (name, whole, others) in zip(call.launches, other.launches, strict=False):
        if kernel != name:
            return
        pairs: list[tuple[Any, Any]] = [(grid, whole)] if _other_grid(grid, whole) else []
        different = ((key, a, b) for (key, a), (_, b) in zip(constants, others, strict=False) if a != b)
        pairs += [(f"{key}={a}", f"{key}={b}") for key, a, b in different]
        if pairs:
            here, there = (", ".join(_in_words(pair[side]) for pair in pairs) for side in (0, 1))
            yield f"`{kernel}` has {here} {words[0]}, {there} {words[1]}"


def _other_grid(here: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Says whether two grids differ along more than one axis, or the one for fewer rows has more programs along one."""
    return sum(a != b for a, b in zip(here, whole, strict=True)) > 1


def _in_words(value: str | tuple[int, ...]) -> str:
    if isinstance(value, str):
        return value
    kept = max((axis + 1 for axis, size in enumerate(value) if size != 1), default=1)
    return f"grid ({', '.join(map(str, value[: max(kept, 2)]))})"


def _followed(batch: Batch, composition: Composition, left_out: dict[str, str]) -> NamedHistories | None:
    """The results of a call, and the histories of its floats."""
    followed = batch.followed(composition)
    if followed and followed[1].one_by_one:
        kernel, why = followed[1].one_by_one
        left_out["the order of sums"] = f"the programs of `{kernel}` ran one by one ({why}); bits were compared"
        return None
    return followed


def _other_history(
    composition: Composition, output: str, part: NamedHistories, whole: NamedHistories
) -> Difference | None:
    (here, call), (there, other) = part, whole
    if not here[output].is_floating_point() or here[output].itemsize == 1:
        return None
    differ = call.of(here[output]) != other.of(there[output])[list(composition.rows)]
    if not differ.any():
        return None
    place, *element = (int(at[0]) for at in differ.nonzero())
    first = composition.rows[place], place, tuple(element)
    return Difference(composition.what, len(composition.rows), output, int(differ.sum()), differ.size, *first)
