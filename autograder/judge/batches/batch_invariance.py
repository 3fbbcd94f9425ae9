"""``neighbours``: a function called on a batch and on other batches of the same rows, whose bits are compared."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from ...runner import Callee, CompareError, Session, for_a_reader
from ...words import Progress, UsageError
from ..records.example import USUAL, example_of
from ..records.named import found, named
from .batch import Batch, CallFailed
from .compositions import Composition, compositions, whole_batch
from .dependence import Difference, Neighbours, difference
from .order_of_sums import computed_otherwise, sums_by_atomics, where_they_part


def neighbours(
    function: Any,
    arguments: Any,
    batch: Sequence[str | int] = (0,),
    *,
    seed: int = 0,
    simulated: bool | None = None,
) -> Neighbours:
    """Returns whether a row's result depends on the rows beside it: ``assert not neighbours(f, arguments,
    batch=("x",))``.

    The function is called on the batch; on one row alone, on some, on all but the last; in reverse order and moved by
    one place; on one row twice and the batch twice; and beside rows of NaN and of huge numbers. Each row's result has
    the same bits in all of them where it depends on its own inputs alone, as inference servers and reinforcement
    learning need it (https://thinkingmachines.ai/blog/defeating-nondeterminism-in-llm-inference/, vllm#27433).

    function, arguments: as `compare` has them: a function, a module, an ``autograd.Function``, or ``"FILE.py:NAME"``;
    an example, or a function that makes one, or its name. batch: the arguments, by name or place, whose dimension 0 is
    the batch: what belongs to a row (positions, lengths, a mask) is one of them. seed: of the example. simulated: as
    `compare` has it.
    Raises CompareError where there is no batch, the function raises on it or gives two results for one call, or no
    result has rows.
    """
    gpu = simulated if simulated is not None else isinstance(function, str) and not torch.cuda.is_available()
    with contextlib.ExitStack() as stack:
        stack.enter_context(for_a_reader("function"))
        session = stack.enter_context(Session(gpu))
        with session.code():
            try:
                function = found(function) if isinstance(function, str) else function
                arguments = named(arguments) if isinstance(arguments, str) else arguments
            except UsageError as error:
                raise CompareError(str(error)) from None
            example = example_of(arguments)
            args = example.make(seed, USUAL)
            callee = Callee.of(function, "function", example.form)
        return _asked(Batch.of(callee, args, batch, session))


def _asked(batch: Batch) -> Neighbours:
    name, left_out = batch.callee.name, dict[str, str]()
    whole = _of_rows(name, batch.written(_whole(batch)), batch.rows, left_out)
    calls, differences = [], list[Difference]()
    with Progress(name) as progress:
        for composition in compositions(batch.rows):
            if composition.beside and not batch.floating:
                continue
            progress.at(composition.what)
            try:
                came = batch.results(composition)
            except CallFailed as error:
                said = str(error).partition("\n")[0]
                if composition.beside:  # who looks at numbers before computing may refuse them
                    left_out[composition.what] = f"the call raises {said}"
                    continue
                differences.append(Difference(composition.what, len(composition.rows), raised=said))
                continue
            calls.append(len(composition.rows))
            differences += _differences(composition, came, whole, left_out)
    if not whole:
        raise CompareError(_rowless(name, batch.rows))
    if not differences:
        differences = computed_otherwise(batch, [*whole], left_out)
    unordered = sums_by_atomics(batch, [*whole])
    reason = where_they_part(batch, differences[0]) if differences else ()
    names = tuple(batch.names[at] for at in batch.places)
    sizes = min(calls, default=0), max(calls, default=0)
    return Neighbours(name, names, batch.rows, tuple(differences), reason, len(calls), sizes, left_out, unordered)


def _whole(batch: Batch) -> dict[str, Tensor]:
    """The results of the whole batch. Raises CompareError where two calls do not agree on them."""
    every = whole_batch(batch.rows)
    name = batch.callee.name
    try:
        first, second = batch.results(every), batch.results(every)
    except CallFailed as error:
        raise CompareError(error.refused or f"{name} raises on the example: {error}") from error
    for output, one in first.items():
        if output not in second or one.shape != second[output].shape or _differs(one, second[output]):
            raise CompareError(
                f"{name} is not deterministic: {output} of one call twice has other bits. Where it draws numbers "
                "(dropout), switch that off (`.eval()`) or pass them as an argument; where programs add by atomics, "
                "the order of a sum is chance on a GPU"
            )
    return first


def _differs(one: Tensor, two: Tensor) -> bool:
    every = range(one.numel())
    return difference("", 0, "", one.flatten(), two.flatten(), every, every) is not None


def _of_rows(name: str, results: dict[str, Tensor], rows: int, left_out: dict[str, str]) -> dict[str, Tensor]:
    """The results with a row for each of the batch. Raises CompareError where there are none."""
    found = {}
    for output, one in results.items():
        if one.dim() and one.shape[0] == rows:
            found[output] = one
        else:
            left_out[output] = f"its shape {tuple(one.shape)} does not begin with the {rows} rows of the batch"
    if not found:
        raise CompareError(_rowless(name, rows))
    return found


def _rowless(name: str, rows: int) -> str:
    return f"{name} has no result of rows: dimension 0 of none follows the {rows} rows of the batch"


def _differences(
    one: Composition, came: dict[str, Tensor], whole: dict[str, Tensor], left_out: dict[str, str]
) -> Iterator[Difference]:
    """Yields what differs in one call. A result that turns out to have no rows is left out from now on."""
    for output in [*whole]:
        here = came.get(output)
        if here is None or here.shape != (len(one.rows), *whole[output].shape[1:]):
            shape = "is missing" if here is None else f"has shape {tuple(here.shape)}"
            left_out[output] = f"it {shape} for {one.what}, so that its dimension 0 is not the batch"
            del whole[output]
            continue
        places = [*one.compared]
        of = [one.rows[at] for at in places]
        if told := difference(one.what, len(one.rows), output, here[places], whole[output][of], of, places):
            yield told
