"""Families of inputs, made from the example: other sizes, memory, magnitudes and dtypes, and special values."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator, Tensor

from ..exercises.cases import common
from ..run.contract import Args, map_tensors
from ..run.dtypes import dtype_name
from .example import SIZES, USUAL, Example
from .sizes import Dimension

Kind = Literal["values", "sizes", "layout", "dtype", "empty"]
Make = Callable[[Generator], Args]
Change = Callable[[Tensor, Generator], Tensor]
HALVES = (torch.float16, torch.bfloat16)
BLOCK = 1031  # past one block of 1,024 elements
MOST = 2**15  # elements of all tensors of a family together
TENSORS = 4  # the first ones get special values, each alone


@dataclass(frozen=True)
class Family:
    """name, what: of it, and what its inputs are in one sentence. make: the arguments. A candidate may refuse a layout
    or a dtype in an error of its own; what it computes there has to be right.
    """

    name: str
    what: str
    make: Make
    kind: Kind = "values"

    @property
    def refusable(self) -> bool:
        """Whether a candidate may raise instead."""
        return self.kind in ("layout", "dtype", "empty")


def families(example: Example, given: Args, names: tuple[str, ...], dimensions: list[Dimension]) -> Iterator[Family]:
    """All families of an example. given: its arguments for the first seed. names: of the arguments."""

    def fresh(generator: Generator) -> Args:
        if example.seeded:
            return example.make(int(torch.randint(2**31, (), generator=generator)), USUAL)
        return map_tensors(lambda a: _drawn_like(a, generator), given)

    yield Family("the example", "The example as it was given.", lambda g: given)
    yield Family("other numbers", "Other random numbers in the example's shapes.", fresh)
    yield from _sized(example, given, names, dimensions, fresh)
    floats = [i for i, a in enumerate(given) if isinstance(a, Tensor) and a.is_floating_point()]
    for name, what, change in VALUES:
        yield Family(name, what, _on_floats(fresh, change))
    for number in floats[:TENSORS]:
        for word, value in (("NaN", torch.nan), ("infinity", torch.inf), ("-infinity", -torch.inf)):
            what = f"One element of {names[number]} is {word}; the reference says what that gives."
            yield Family(f"{word} in {names[number]}", what, _one_element(fresh, number, value))
    yield from _integers(given, names, fresh)
    for name, what, view in LAYOUTS:
        yield Family(name, what, _on_floats(fresh, _viewed(view, _most_dimensions(given))), "layout")
    if len({given[i].dim() for i in floats} - {0}) > 1:
        what = "Each tensor of one dimension is every second element of one twice as long."
        yield Family("strided vectors", what, _on_floats(fresh, _strided_vectors), "layout")
    kinds = {given[i].dtype for i in floats}
    for dtype in (torch.float32, *HALVES):
        if floats and kinds != {dtype}:
            what = f"The same numbers rounded to {dtype_name(dtype)}."
            yield Family(dtype_name(dtype), what, _on_floats(fresh, _rounded(dtype)), "dtype")


def _sized(
    example: Example,
    given: Args,
    names: tuple[str, ...],
    dimensions: list[Dimension],
    fresh: Make,
) -> Iterator[Family]:
    if example.sized:
        for size in SIZES:
            what = f"The arguments of size {size:,}."
            yield Family(f"size {size}", what, _of_size(example, size), "sizes" if size else "empty")
        return
    for dimension in dimensions:
        for size in other_sizes(dimension.size):
            if dimension.elements(given, size) <= MOST:
                name = dimension.named(names)
                what = f"{name.capitalize()} is {size:,} instead of {dimension.size:,}."
                made = _resized(fresh, dimension, size)
                yield Family(f"{name}: {size:,}", what, made, "sizes" if size else "empty")


def _of_size(example: Example, size: int) -> Make:
    return lambda generator: example.make(int(torch.randint(2**31, (), generator=generator)), size)


def _resized(fresh: Make, dimension: Dimension, size: int) -> Make:
    return lambda generator: dimension.at(fresh(generator), size)


def other_sizes(size: int) -> tuple[int, ...]:
    """None, one, an odd number, one past the next power of two, and past a block."""
    past = 2 ** (size - 1).bit_length() + 1 if size > 1 else 3
    return tuple(s for s in dict.fromkeys((1, 7, past, BLOCK, 0)) if s != size)


def _drawn_like(tensor: Tensor, generator: Generator) -> Tensor:
    """Random numbers of a tensor's mean, spread and sign; integers of its range."""
    if not tensor.numel():
        return tensor.clone()
    if tensor.dtype == torch.bool:
        return torch.rand(tensor.shape, generator=generator) < max(0.1, min(0.9, float(tensor.float().mean())))
    if not tensor.is_floating_point():
        low, high = int(tensor.min()), int(tensor.max())
        return torch.randint(low, high + 1, tensor.shape, generator=generator, dtype=tensor.dtype)
    seen = tensor.double()[tensor.isfinite()]
    if not seen.numel():
        return tensor.clone()
    least, most = float(seen.min()), float(seen.max())
    if 0 <= least and most <= 1:
        return (least + (most - least) * torch.rand(tensor.shape, generator=generator)).to(tensor.dtype)
    spread = float(seen.std()) if seen.numel() > 1 else 1.0
    drawn = float(seen.mean()) + spread * torch.randn(tensor.shape, generator=generator)
    return (drawn.abs().clamp(least, None) if least >= 0 else drawn).to(tensor.dtype)


def _on_floats(fresh: Make, change: Change) -> Make:
    def make(generator: Generator) -> Args:
        return map_tensors(lambda a: change(a, generator) if a.is_floating_point() else a, fresh(generator))

    return make


def _one_element(fresh: Make, number: int, value: float) -> Make:
    def make(generator: Generator) -> Args:
        args = list(fresh(generator))
        changed = args[number].clone()
        if changed.numel():
            changed.view(-1)[int(torch.randint(changed.numel(), (), generator=generator))] = value
        args[number] = changed
        return tuple(args)

    return make


def _integers(given: Args, names: tuple[str, ...], fresh: Make) -> Iterator[Family]:
    """Indices at both ends of their range and all the same; masks of one value."""
    for number, tensor in enumerate(given):
        if not isinstance(tensor, Tensor) or tensor.is_floating_point() or not tensor.numel():
            continue
        words = ((0, "False"), (1, "True")) if tensor.dtype == torch.bool else _ends(tensor)
        for value, word in words:

            def make(generator: Generator, number: int = number, value: int = value) -> Args:
                args = list(fresh(generator))
                args[number] = torch.full_like(args[number], value)
                return tuple(args)

            what = f"Every element of {names[number]} is {word}."
            yield Family(f"{names[number]} all {word}", what, make)


def _ends(tensor: Tensor) -> tuple[tuple[int, str], ...]:
    ends = dict.fromkeys((int(tensor.min()), int(tensor.max())))
    return tuple((value, str(value)) for value in ends)


def _most_dimensions(given: Args) -> int:
    """2, or 1 where no tensor has as many: a layout is about matrices, where there are any."""
    return min(2, max(a.dim() for a in given if isinstance(a, Tensor)))


def _viewed(view: common.View, least: int) -> Change:
    return lambda a, g: view(a) if a.dim() >= max(1, least) else a


def _strided_vectors(a: Tensor, generator: Generator) -> Tensor:
    return common.every_second(a) if a.dim() == 1 else a


def _rounded(dtype: torch.dtype) -> Change:
    return lambda a, g: a.to(dtype)


def _scaled(factor: float) -> Change:
    return lambda a, g: (a.double() * factor).to(a.dtype)


def _shifted(a: Tensor, generator: Generator) -> Tensor:
    return (a.double() + 1000).to(a.dtype)


def _of_rows(a: Tensor, generator: Generator) -> Tensor:
    return a[..., :1].expand(a.shape).clone() if a.dim() else a


def _outlier(a: Tensor, generator: Generator) -> Tensor:
    a = a.clone()
    if a.numel():
        a.view(-1)[int(torch.randint(a.numel(), (), generator=generator))] *= 1e4
    return a


def _transposed(a: Tensor) -> Tensor:
    return common.transposed(a) if a.dim() > 1 else a


VALUES: tuple[tuple[str, str, Change], ...] = (
    ("zeros", "Every floating-point number is 0.", lambda a, g: torch.zeros_like(a)),
    ("tiny values", "The numbers are 1e-6 times as large.", _scaled(1e-6)),
    ("subnormal values", "The numbers are 1e-39 times as large: below the smallest normal float32.", _scaled(1e-39)),
    ("large values", "The numbers are 100 times as large: exp of them overflows.", _scaled(100.0)),
    ("very large values", "The numbers are 10,000 times as large.", _scaled(1e4)),
    ("far from zero", "1,000 is added to the numbers: their mean is far larger than their spread.", _shifted),
    ("rows of one value", "All numbers of a row are the same.", _of_rows),
    ("one outlier", "One element of each tensor is 10,000 times as large.", _outlier),
)
LAYOUTS: tuple[tuple[str, str, common.View], ...] = (
    ("transposed", "The last two dimensions lie in memory the other way round.", _transposed),
    ("every second column", "Each tensor is every second column of one twice as wide.", common.every_second),
    ("rows with gaps", "Each tensor is the middle of longer rows; NaN lies between them.", common.with_gaps),
    ("one number, expanded", "Each tensor is one number at stride 0.", common.one_number),
)
