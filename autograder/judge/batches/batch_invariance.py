"""``neighbours``: a function called on a batch and on other batches of the same rows, whose bits are compared."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ...runner import Callee, CompareError, Session, for_a_reader
from ...words import Progress, UsageError
from ..records.example import USUAL, example_of
from ..records.named import found, named
from .batch import Batch
from .called_function import CalledFunction, CallFailed
from .causality import CausalityQuestion
from .compositions import Composition, compositions, whole_batch
from .dependence import Difference, Neighbours, difference
from .order_of_sums import computed_otherwise, sums_by_atomics, where_they_part
from .time_axis import TimeAxis


def neighbours(
    function: Any,
    arguments: Any,
    batch: str | int | Sequence[str | int] = (0,),
    *,
    causal: int | None = None,
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
    the batch: what belongs to a row (positions, lengths, a mask) is one of them. causal: the dimension of time of these
    arguments, of those that have it. Then it is also asked whether a position's result depends on what comes behind it:
    at several positions, on and off the edges of blocks, everything behind is replaced by other numbers, by NaN and by
    huge ones, and the bits of what lies before are compared, those of gradients too, where upstream is 0 behind
    (fla-org/flash-linear-attention#1240). Where causal is 0, or the batch is one row, rows are not asked about.
    seed: of the example. simulated: as `compare` has it.
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
        called = CalledFunction.of(callee, args, batch, session)
        axis = None if causal is None else TimeAxis.of(called, causal)
        return _asked(called, axis)


def _asked(function: CalledFunction, axis: TimeAxis | None) -> Neighbours:
    about = function.callee.name, tuple(function.names[at] for at in function.places)
    if axis is None:
        return _of_batch(Batch.of(function), *about)
    results = function.results_twice()
    if no_rows := _without_rows(function, axis):
        asked = Neighbours(*about, 0, (), (), 0, (0, 0), {"rows": no_rows}, sums_by_atomics(axis.whole))
    else:
        asked = _of_batch(Batch.of(function), *about)
    returned = tuple(results.values())[: len(results) - len(function.places)]
    question = CausalityQuestion(axis, function.written(results))
    if not question.whole:
        raise CompareError(f"{about[0]} has no result of positions: dimension {axis.dim} of none is {axis.length}")
    with Progress(f"{about[0]}, its past"):
        return replace(asked, causality=question.answer(returned))


def _without_rows(function: CalledFunction, axis: TimeAxis) -> str:
    """Why rows are not asked about; "" where they are."""
    if axis.dim == 0:
        return "dimension 0 is time"
    single = (
        isinstance(value, Tensor) and value.dim() and len(value) == 1
        for value in map(function.args.__getitem__, function.places)
    )
    return "the batch has one" if all(single) else ""


def _of_batch(batch: Batch, name: str, names: tuple[str, ...]) -> Neighbours:
    function, left_out = batch.function, dict[str, str]()
    whole = _of_rows(name, function.written(batch.results_twice()), batch.rows, left_out)
    calls, differences = [], list[Difference]()
    with Progress(name) as progress:
        for composition in compositions(batch.rows):
            if composition.beside and not batch.floating:
                continue
            progress.at(composition.what)
            try:
                results = batch.results(composition)
            except CallFailed as error:
                if composition.beside:  # who looks at numbers before computing may refuse them
                    left_out[composition.what] = f"the call raises {error}"
                    continue
                differences.append(Difference(composition.what, len(composition.rows), raised=str(error)))
                continue
            calls.append(len(composition.rows))
            differences += _differences(composition, results, whole, left_out)
    if not whole:
        raise CompareError(_rowless(name, batch.rows))
    if not differences:
        differences = computed_otherwise(batch, [*whole], left_out)
    unordered = sums_by_atomics(batch.followed(whole_batch(batch.rows)), [*whole])
    reason = where_they_part(batch, differences[0]) if differences else ()
    sizes = min(calls, default=0), max(calls, default=0)
    return Neighbours(name, names, batch.rows, tuple(differences), reason, len(calls), sizes, left_out, unordered)


def _of_rows(name: str, results: dict[str, Tensor], rows: int, left_out: dict[str, str]) -> dict[str, Tensor]:
    """The results with a row for each of the batch. Raises CompareError where there are none."""
    tensors = {}
    for output, tensor in results.items():
        if tensor.dim() and tensor.shape[0] == rows:
            tensors[output] = tensor
        else:
            left_out[output] = f"its shape {tuple(tensor.shape)} does not begin with the {rows} rows of the batch"
    if not tensors:
        raise CompareError(_rowless(name, rows))
    return tensors


def _rowless(name: str, rows: int) -> str:
    return f"{name} has no result of rows: dimension 0 of none follows the {rows} rows of the batch"


def _differences(
    composition: Composition, results: dict[str, Tensor], whole: dict[str, Tensor], left_out: dict[str, str]
) -> Iterator[Difference]:
    """Yields what differs in one call. A result that turns out to have no rows is left out from now on."""
    for output in [*whole]:
        here = results.get(output)
        if here is None or here.shape != (len(composition.rows), *whole[output].shape[1:]):
            shape = "is missing" if here is None else f"has shape {tuple(here.shape)}"
            left_out[output] = f"it {shape} for {composition.what}, so that its dimension 0 is not the batch"
            del whole[output]
            continue
        places = [*composition.compared]
        of = [composition.rows[at] for at in places]
        if differing := difference(
            composition.what, len(composition.rows), output, here[places], whole[output][of], of, places
        ):
            yield differing
