"""The form of a result: its dtype, its shape, which output is which; values are judged as if it were right. And
where it lies: what goes wrong with one that an answer writes into an argument, and with a list that it is given.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import permutations

import torch

from ...runner import Args, Outcome, Tree
from ..records.ulp import FLOAT8
from .closeness import Comparison, Expected, near, unlike

_MOST = 4  # outputs, of which any may stand in the place of any other
_NUMBERS = (torch.float64, torch.int64)  # the dtypes that a Python number gets


@dataclass(frozen=True)
class FormFault:
    """Holds what is wrong with the form of a result. code: as `scoring.FORMS` has it. place: the output. message: in a
    sentence.
    """

    code: str
    place: str
    message: str


def as_asked(expected: Expected, outputs: Args) -> tuple[Args, FormFault | None]:
    """The outputs in the form that was asked for, as far as they hold numbers for it; what was wrong with theirs."""
    if len(outputs) != len(expected.values):
        return outputs, None
    straight, orders = _converted(expected, outputs), _orders(len(outputs))
    if all(converted is not None for converted in straight) and (not orders or near(expected, straight) == 1):
        return straight, next(_forms(expected, outputs), None)
    for order in orders:
        turned = _converted(expected, tuple(outputs[i] for i in order))
        if all(converted is not None for converted in turned) and near(expected, turned) == 1:
            moved = [expected.names[place] for place, i in enumerate(order) if place != i]
            names = f"{', '.join(moved[:-1])} and {moved[-1]}"
            return turned, FormFault("exchanged", moved[0], f"{names} are exchanged.")
    kept = tuple(
        output if converted is None else converted for output, converted in zip(outputs, straight, strict=True)
    )
    return kept, next(_forms(expected, outputs), None)


def _orders(count: int) -> list[tuple[int, ...]]:
    """All orders of so many outputs but theirs."""
    if count > _MOST:  # a thousand outputs have more orders than anybody can try
        return []
    return [order for order in permutations(range(count)) if order != tuple(range(count))]


def _converted(expected: Expected, outputs: Args) -> Args:
    """Each output in the dtype and shape of what is right; None where it holds no such numbers."""
    return tuple(_as(o, v.shape, d) for o, v, d in zip(outputs, expected.values, expected.dtypes, strict=True))


def _as(actual: torch.Tensor, shape: torch.Size, dtype: torch.dtype) -> torch.Tensor | None:
    if actual.shape != shape:
        if [size for size in actual.shape if size != 1] != [size for size in shape if size != 1]:
            return None
        actual = actual.reshape(shape)
    if actual.dtype == dtype or actual.is_complex():
        return actual if actual.dtype == dtype else None
    if dtype in FLOAT8 and not actual.is_floating_point():  # a code, or what no float8 holds
        return None
    other = actual.to(dtype)
    return other if dtype.is_floating_point or bool((other.double() == actual.double()).all()) else None


def _forms(expected: Expected, outputs: Args) -> Iterator[FormFault]:
    """Yields what is wrong with the form of each output, shapes first."""
    rows = list(zip(expected.names, outputs, expected.values, expected.dtypes, strict=True))
    for code in ("shape", "dtype"):
        for name, actual, value, dtype in rows:
            if message := unlike(name, actual, value.shape, actual.dtype if code == "shape" else dtype):
                number = not actual.dim() and actual.dtype in _NUMBERS
                yield FormFault(code, name, f"{message} Return a tensor, not a Python number." if number else message)


def between_elements(written: Container[str], outcome: Outcome) -> str:
    """A sentence on what was written between the elements of a tensor; "" where nothing was. written: the names of
    those whose elements are results.
    """
    name = next((name for name in outcome.mutated if name in written), "")
    return name and f"The answer wrote between the elements of {name}: every dimension has a stride of its own."


def relisted(outcome: Outcome) -> str:
    """A sentence on a list that does not hold the tensors that came in; "" where there is none."""
    if not outcome.relisted:
        return ""
    took = f"The answer took tensors out of the list {outcome.relisted[0]}, or put others in"
    return f"{took}: leave it as it was given."


def reshaped(outcome: Outcome) -> str:
    """A sentence on an argument with another shape or other memory than it came with; "" where there is none."""
    if not outcome.reshaped:
        return ""
    name = outcome.reshaped[0]
    return (
        f"The answer left its input {name} with another shape or other memory, as `{name}.t_()` and "
        f"`{name}.data = ...` do, and the caller has it so from now on: work on a view or a copy."
    )


def as_given(whose: str, given: torch.Tensor, output: torch.Tensor, comparison: Comparison) -> str:
    """A sentence on the wrong elements of a parameter where they are what came in, bit for bit; "" where not. whose:
    how it begins, ``They`` or ``Those of m``.
    """
    wrong = comparison.wrong
    if wrong is None or not Tree((output[wrong],)).same_bits((given[wrong],)):
        return ""
    return f"{whose} are as they came in: write to every element of the tensor that is given, not to a copy of it."
