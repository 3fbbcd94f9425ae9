"""Arguments changed in one way each, as an answer sees them that leaves an input out, or reads it wrongly."""

import inspect
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import torch

from ...runner import Args
from ..records.ulp import comparable

# The powers of a factor like 0.999 with this exponent are nothing beside 1; a size, of a block perhaps, fits in memory.
VERY_LARGE = 1 << 15


class _WithoutPowers(float):
    """A factor whose powers are 0, as they are after very many steps: what is divided by 1 - β^t stays as it is."""

    def __pow__(self, exponent: Any, modulo: None = None) -> Any:
        return 0.0


InputChange = tuple[
    str, Any
]  # what is changed, to complete "the result comes out as if", and the argument in its place


def changed(parameters: Mapping[str, inspect.Parameter], args: Args) -> Iterator[tuple[str, Args]]:
    """Every change of one argument, and every exchange of two tensors of one shape and dtype. args: all of them, also
    those that have a default.
    """
    factors = any(type(value) is float for value in args)
    for number, (name, value) in enumerate(zip(parameters, args, strict=True)):
        for words, other in (
            *_others(name, value, parameters[name].default, factors),
            *_stated(parameters[name], value),
        ):
            yield words, (*args[:number], other, *args[number + 1 :])
    yield from _divided(tuple(parameters), args)
    yield from _padded(tuple(parameters), args)
    for first, second in itertools.combinations(range(len(args)), 2):
        a, b = args[first], args[second]
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and (a.shape, a.dtype) == (b.shape, b.dtype):
            exchanged = list(args)
            exchanged[first], exchanged[second] = b, a
            names = tuple(parameters)
            yield f"{names[first]} and {names[second]} were exchanged", tuple(exchanged)


def _divided(names: tuple[str, ...], args: Args) -> Iterator[tuple[str, Args]]:
    """A number divided by another, as the decay is from which the step was left out that multiplies it."""
    numbers = [at for at, value in enumerate(args) if type(value) is float]
    for first, second in itertools.permutations(numbers, 2):
        if args[first] and args[second] and math.isfinite(args[first] / args[second]):
            changed = (*args[:first], args[first] / args[second], *args[first + 1 :])
            yield f"{names[first]} were not multiplied by {names[second]}", changed


def _padded(names: tuple[str, ...], args: Args) -> Iterator[tuple[str, Args]]:
    """Rows that go on with zeros up to a block, as masked lanes do that are counted."""
    matrices = [a for a in args if isinstance(a, torch.Tensor) and a.dim() == 2 and a.is_floating_point()]
    size = matrices[0].shape[1] if matrices else 0
    block = 1 << max(size - 1, 0).bit_length()
    if size < 2 or block == size:
        return

    def longer(value: Any) -> Any:
        rows = isinstance(value, torch.Tensor) and value.dim() > 0 and value.shape[-1] == size
        return torch.nn.functional.pad(value, (0, block - size)) if rows else value

    yield f"each row went on with zeros up to {block}, a block, which are counted", tuple(map(longer, args))


def _stated(parameter: inspect.Parameter, value: object) -> Iterator[InputChange]:
    """The other values of a parameter that is a `Literal`."""
    for other in get_args(parameter.annotation) if isinstance(value, str) else ():
        if other not in (value, parameter.default):
            yield f"{parameter.name} were {other!r}", other


def _others(name: str, value: object, default: object, factors: bool) -> Iterator[InputChange]:
    if default is not inspect.Parameter.empty and default is not value:
        yield f"{name} were left out" if default is None else f"{name} were {default!r}, its default", default
    yield from _of_tensor(name, value) if isinstance(value, torch.Tensor) else _of_number(name, value, factors)


def _of_number(name: str, value: object, factors: bool) -> Iterator[InputChange]:
    """factors: whether there are numbers to take powers of; without them no correction is left out."""
    if isinstance(value, bool):
        yield f"{name} were {not value}", not value
    elif isinstance(value, int | float):
        yield f"{name} were 0", type(value)(0)
        yield f"{name} were 1", type(value)(1)
        if isinstance(value, float):
            yield f"every power of {name} were 0, and no correction by it were left", _WithoutPowers(value)
        if isinstance(value, int):
            yield f"{name} were larger by 1", value + 1
            yield f"{name} were smaller by 1", value - 1
        if factors:
            yield f"{name} were very large, and no correction of it were left", type(value)(VERY_LARGE)


def _of_tensor(name: str, value: torch.Tensor) -> Iterator[InputChange]:
    if value.dtype == torch.bool:
        yield f"{name} were True everywhere", torch.ones_like(value)
        yield f"True and False were exchanged in {name}", ~value
    elif not value.is_floating_point() and not value.is_complex():
        yield f"{name} were larger by 1", value + 1
        yield f"{name} were smaller by 1", value - 1
    if value.is_floating_point():
        yield f"{name} were 0 everywhere", torch.zeros_like(value)
        yield f"{name} were 1 everywhere", torch.ones_like(value)
        yield f"{name} had the other sign", (-comparable(value)).to(value.dtype)
    yield from _misread(name, value)
    if value.dim() and value.numel():
        what = "element" if value.dim() == 1 else "row" if value.dim() == 2 else "part"
        yield f"every {what} of {name} were its first", value[:1].expand(value.shape)
    if value.dim() > 1 and value.shape[-1] > 1 and value.numel():
        kept = torch.arange(value.shape[-1]) < value.shape[-1] - 1
        yield f"the last column of {name} were 0", torch.where(kept, value, torch.zeros_like(value))
        kept = _added_in_halves(value.shape[-1])
        words = f"{name} were 0 in what an odd number of columns has over, halved again and again"
        yield words, torch.where(kept, value, torch.zeros_like(value))
    if value.dim() > 1 and value.numel():
        yield f"every column of {name} were its first", value[..., :1].expand(value.shape)
        yield f"every element of {name} were its first", value[(0,) * value.dim()].expand(value.shape)


def _added_in_halves(columns: int) -> torch.Tensor:
    """The columns that a sum has which adds the second half to the first until one is left, and forgets the odd one."""
    place, kept = torch.arange(columns), torch.ones(columns, dtype=torch.bool)
    while columns > 1:
        kept &= place < columns // 2 * 2
        columns //= 2
        place = place % columns
    return kept


def _misread(name: str, value: torch.Tensor) -> Iterator[InputChange]:
    """Yields what a kernel reads that goes by other strides than the tensor's, as far as they stay in its memory."""
    if value.is_contiguous():
        return
    contiguous = torch.empty(value.shape, device="meta").stride()
    ways = (
        (f"{name} were contiguous, which it is not here", contiguous),
        (f"the last stride of {name} were 1", (*value.stride()[:-1], 1)),
    )
    left = value.untyped_storage().nbytes() // value.element_size() - value.storage_offset()
    for words, strides in ways:
        reached = sum((size - 1) * stride for size, stride in zip(value.shape, strides, strict=True))
        if value.numel() and reached < left:
            yield words, value.as_strided(value.shape, strides)
