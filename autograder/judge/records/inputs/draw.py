"""Where the numbers of a tensor come from. Each word returns `Values`, which others of its words alter.

A shape is given as sizes, ``draw.normal(5, 40)``, or as that of another argument, with its dtype:
``draw.gradient(like="x")``.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Generator, Tensor

from .values import Drawing, Values

LEAST = 1e-4  # of an upstream gradient that is not 0
same = Values(None)  # the argument as it was drawn so far: ``logp=draw.same.transposed()``


def normal(*sizes: int, like: str = "") -> Values:
    """Normal numbers with mean 0 and standard deviation 1."""
    return _of_shape(lambda generator, shape: torch.randn(shape, generator=generator), sizes, like)


def gradient(*sizes: int, like: str = "") -> Values:
    """An upstream gradient: normal numbers, one in seven exactly 0, none nearer to it than 1e-4, and never only powers
    of two. What an answer does with tiny gradients is asked in a case of theirs, at every seed.
    """
    return _of_shape(_gradient, sizes, like)


def without_zeros(*sizes: int, like: str = "") -> Values:
    """An upstream gradient of few elements: of both signs, from 0.5 to 2. A 0 among few would hide a mistake at some
    seeds and at others not.
    """
    return _of_shape(_without_zeros, sizes, like)


def uniform(*sizes: int, like: str = "") -> Values:
    """Numbers from 0 to 1, 1 left out."""
    return _of_shape(lambda generator, shape: torch.rand(shape, generator=generator), sizes, like)


def truths(*sizes: int, share: float) -> Values:
    """Booleans, this share of which is True: all from 1 on, none at 0."""
    return uniform(*sizes).map(lambda x: x < share)


def integers(*sizes: int, low: int, high: int) -> Values:
    """Integers (int64) from ``low`` to ``high``, both included."""

    def source(drawing: Drawing) -> Tensor:
        return torch.randint(low, high + 1, sizes, generator=drawing.generator)

    return Values(source)


def signs(*sizes: int) -> Values:
    """1 and -1, in float32."""
    return integers(*sizes, low=0, high=1).map(lambda bit: bit * 2.0 - 1)


def full(*sizes: int, value: float) -> Values:
    """One number everywhere; int64 where it is an integer."""
    return Values(lambda drawing: torch.full(sizes, value))


def tensor(numbers: Sequence[Any] | float, dtype: torch.dtype | None = None) -> Values:
    """These numbers, as `torch.tensor` takes them."""
    return Values(lambda drawing: torch.tensor(numbers, dtype=dtype))


def every_value(dtype: torch.dtype) -> Values:
    """All 65,536 values of a 16-bit format: zeros, subnormals, infinities and NaN with every payload among them."""
    return Values(lambda drawing: torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(dtype))


def by(function: Callable[..., Tensor]) -> Values:
    """Returns what ``function`` returns: its parameters name arguments drawn before, as they are handed over, and
    ``generator`` is the generator.
    """

    def source(drawing: Drawing) -> Tensor:
        names = inspect.signature(function).parameters
        return function(*(drawing.generator if name == "generator" else drawing.laid_out(name) for name in names))

    return Values(source)


def _gradient(generator: Generator, shape: tuple[int, ...]) -> Tensor:
    dy = torch.randn(shape, generator=generator)
    dy = torch.where(dy.abs() < LEAST, torch.full_like(dy, LEAST).copysign(dy), dy)
    return dy.masked_fill(torch.rand(shape, generator=generator) < 1 / 7, 0.0)


def _without_zeros(generator: Generator, shape: tuple[int, ...]) -> Tensor:
    size = 0.5 + 1.5 * torch.rand(shape, generator=generator)
    return torch.where(torch.rand(shape, generator=generator) < 0.5, -size, size)


def _of_shape(make: Callable[[Generator, tuple[int, ...]], Tensor], sizes: tuple[int, ...], like: str) -> Values:
    if like:
        return Values(lambda drawing: make(drawing.generator, drawing[like].shape)).to(like)
    return Values(lambda drawing: make(drawing.generator, sizes))
