"""A tensor as a table of a TOML file describes it: its numbers, their dtype, and how they lie in memory."""

import math
from collections.abc import Callable
from typing import Any

import torch

from ..run.dtypes import dtype_name

DTYPES = {dtype_name(d): d for d in (torch.float32, torch.float16, torch.bfloat16, torch.int64)}
OTHERS = ("dtype", "shape", "layout", "put")
Shape = tuple[int, ...]


class SpecError(ValueError):
    """A table that does not describe a tensor; the message says why."""


def tensor(table: dict[str, Any], generator: torch.Generator) -> torch.Tensor:
    """The tensor that a table describes (`hidden` says how), random numbers from ``generator``. Raises SpecError."""
    unknown = [key for key in table if key not in (*SOURCES, *OTHERS)]
    if unknown:
        raise SpecError(f"there is no {unknown[0]!r}; there are {', '.join((*SOURCES, *OTHERS))}")
    sources = [key for key in SOURCES if key in table]
    if len(sources) != 1:
        raise SpecError(f"it needs one of {', '.join(SOURCES)}, but has {' and '.join(sources) or 'none'}")
    try:
        made = SOURCES[sources[0]](table[sources[0]], _shape(table, sources[0]), generator)
        return _laid_out(_changed(made.to(_dtype(table, made)), table.get("put", [])), table.get("layout", ""))
    except SpecError:
        raise
    except (TypeError, ValueError, KeyError, IndexError, RuntimeError) as error:
        raise SpecError(f"{sources[0]}: {error}") from None


def _shape(table: dict[str, Any], source: str) -> Shape:
    if source == "values":
        if "shape" in table:
            raise SpecError("values have a shape of their own: leave `shape` out")
        return ()
    shape = table.get("shape")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise SpecError("it needs a shape, such as shape = [3, 257]")
    return tuple(shape)


def _dtype(table: dict[str, Any], made: torch.Tensor) -> torch.dtype:
    name = table.get("dtype", "float32" if made.is_floating_point() else "int64")
    if name not in DTYPES:
        raise SpecError(f"there is no dtype {name!r}; there are {', '.join(DTYPES)}")
    return DTYPES[name]


def _values(values: Any, shape: Shape, generator: torch.Generator) -> torch.Tensor:
    numbers = _flat(values)
    whole = numbers and all(type(number) is int for number in numbers)
    return torch.tensor(values, dtype=torch.int64 if whole else torch.float64)


def _flat(values: Any) -> list[Any]:
    return [number for value in values for number in _flat(value)] if isinstance(values, list) else [values]


def _fill(value: Any, shape: Shape, generator: torch.Generator) -> torch.Tensor:
    return torch.full(shape, value, dtype=torch.int64 if type(value) is int else torch.float64)


def _normal(values: Any, shape: Shape, generator: torch.Generator) -> torch.Tensor:
    mean, deviation = values
    return torch.randn(shape, generator=generator, dtype=torch.float64).mul(deviation).add(mean)


def _uniform(values: Any, shape: Shape, generator: torch.Generator) -> torch.Tensor:
    low, high = values
    return torch.rand(shape, generator=generator, dtype=torch.float64).mul(high - low).add(low)


def _integers(values: Any, shape: Shape, generator: torch.Generator) -> torch.Tensor:
    low, high = values
    return torch.randint(low, high, shape, generator=generator)


def _linspace(values: Any, shape: Shape, generator: torch.Generator) -> torch.Tensor:
    first, last = values
    return torch.linspace(first, last, math.prod(shape), dtype=torch.float64).reshape(shape)


# What the table says, shape and generator -> numbers in float64 or int64
SOURCES: dict[str, Callable[[Any, Shape, torch.Generator], torch.Tensor]] = {
    "values": _values,
    "fill": _fill,
    "normal": _normal,
    "uniform": _uniform,
    "integers": _integers,
    "linspace": _linspace,
}


def _changed(made: torch.Tensor, changes: list[dict[str, Any]]) -> torch.Tensor:
    for change in changes:
        if set(change) != {"at", "value"} or len(change["at"]) != made.dim():
            raise SpecError(f"put takes {{ at = [one index for each of {made.dim()} dimensions], value = ... }}")
        made[tuple(change["at"])] = change["value"]
    return made


def _laid_out(made: torch.Tensor, layout: str) -> torch.Tensor:
    if layout == "transposed" and made.dim() >= 2:
        return made.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "strided" and made.dim() >= 1:
        wide = torch.zeros((*made.shape[:-1], 2 * made.shape[-1]), dtype=made.dtype)
        wide[..., ::2] = made
        return wide[..., ::2]
    if layout == "expanded" and made.dim() >= 1 and made.shape[0]:
        return made[:1].clone().expand(made.shape)
    if layout:
        raise SpecError(f"layout is transposed, strided or expanded, not {layout!r} for {made.dim()} dimensions")
    return made
