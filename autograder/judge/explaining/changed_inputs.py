"""Arguments changed in one way each, as an answer sees them that leaves an input out, or reads it wrongly."""

import inspect
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ...runner import Args
from ..records.ulp import comparable

InputChange = tuple[
    str, Any
]  # what is changed, to complete "the result comes out as if", and the argument in its place


def changed(parameters: Mapping[str, inspect.Parameter], args: Args) -> Iterator[tuple[str, Args]]:
    """Every change of one argument, and every exchange of two tensors of one shape and dtype. args: all of them, also
    those that have a default.
    """
    for number, (name, value) in enumerate(zip(parameters, args, strict=True)):
        for words, other in _others(name, value, parameters[name].default):
            yield words, (*args[:number], other, *args[number + 1 :])
    for first, second in itertools.combinations(range(len(args)), 2):
        a, b = args[first], args[second]
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and (a.shape, a.dtype) == (b.shape, b.dtype):
            exchanged = list(args)
            exchanged[first], exchanged[second] = b, a
            names = tuple(parameters)
            yield f"{names[first]} and {names[second]} were exchanged", tuple(exchanged)


def _others(name: str, value: object, default: object) -> Iterator[InputChange]:
    if default is not inspect.Parameter.empty and default is not value:
        yield f"{name} were left out", default
    yield from _of_tensor(name, value) if isinstance(value, torch.Tensor) else _of_number(name, value)


def _of_number(name: str, value: object) -> Iterator[InputChange]:
    if isinstance(value, bool):
        yield f"{name} were {not value}", not value
    elif isinstance(value, int | float):
        yield f"{name} were 0", type(value)(0)
        yield f"{name} were 1", type(value)(1)


def _of_tensor(name: str, value: torch.Tensor) -> Iterator[InputChange]:
    if value.dtype == torch.bool:
        yield f"{name} were True everywhere", torch.ones_like(value)
        yield f"True and False were exchanged in {name}", ~value
    if value.is_floating_point():
        yield f"{name} were 0 everywhere", torch.zeros_like(value)
        yield f"{name} were 1 everywhere", torch.ones_like(value)
        yield f"{name} had the other sign", (-comparable(value)).to(value.dtype)
    yield from _misread(name, value)
    if value.dim() and value.numel():
        what = "element" if value.dim() == 1 else "row" if value.dim() == 2 else "part"
        yield f"every {what} of {name} were its first", value[:1].expand(value.shape)
    if value.dim() > 1 and value.numel():
        yield f"every column of {name} were its first", value[..., :1].expand(value.shape)
        yield f"every element of {name} were its first", value[(0,) * value.dim()].expand(value.shape)


def _misread(name: str, value: torch.Tensor) -> Iterator[InputChange]:
    """What a kernel reads that goes by other strides than the tensor's, as far as they stay in its memory."""
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
