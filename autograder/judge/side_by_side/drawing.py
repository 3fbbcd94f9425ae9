"""Random numbers like those of a tensor of the example."""

import math
from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from ..records.ulp import FLOAT8

MOST = 2**20  # of a range of integers that is listed
FEW = 4  # a tensor has few values where each of them comes as often as this, in the mean


def drawn_like(
    tensor: Tensor, generator: Generator, shape: Sequence[int] | None = None, distinct: bool = False
) -> Tensor:
    """Random numbers of a tensor's mean, spread and sign, in its shape or in ``shape``; integers of its range. They are
    its own values where there are few, such as -1 and 1, or where a negative integer may stand for none. distinct:
    whether integers that are all different stay so.
    """
    shape = tensor.shape if shape is None else shape
    if not tensor.numel():
        return tensor.new_zeros(shape)
    if tensor.dtype == torch.bool:
        return torch.rand(shape, generator=generator) < max(0.1, min(0.9, float(tensor.float().mean())))
    if not tensor.is_floating_point():
        low, high = int(tensor.min()), int(tensor.max())
        if distinct and _are_distinct(tensor) and high - low < MOST:
            pool = tensor.reshape(-1) if low < 0 else torch.arange(low, high + 1, dtype=tensor.dtype)
            if (count := math.prod(shape)) <= pool.numel():
                return pool[torch.randperm(pool.numel(), generator=generator)[:count]].reshape(tuple(shape))
        if low < 0:
            return _picked(tensor, generator, shape)
        return torch.randint(low, high + 1, shape, generator=generator, dtype=tensor.dtype)
    wide = tensor.double()
    seen = wide[wide.isfinite()]
    values = seen.unique()
    if not seen.numel() or len(values) * FEW <= len(seen):
        return _picked(tensor, generator, shape)
    least, most = float(values[0]), float(values[-1])
    if 0 <= least and most <= 1:
        return brought(least + (most - least) * torch.rand(shape, generator=generator), tensor.dtype)
    spread = float(seen.std()) if seen.numel() > 1 else 1.0
    drawn = float(seen.mean()) + spread * torch.randn(shape, generator=generator)
    return brought(drawn.abs().clamp(least, None) if least >= 0 else drawn, tensor.dtype)


def brought(numbers: Tensor, dtype: torch.dtype) -> Tensor:
    """The numbers in another dtype. Past the end of float8 lies its largest number, as quantisation clamps them."""
    if dtype in FLOAT8:
        most = torch.finfo(dtype).max
        numbers = numbers.clamp(-most, most)
    return numbers.to(dtype)


def longer(tensor: Tensor, axis: int, size: int, generator: Generator, distinct: bool = False) -> Tensor:
    """The tensor, and behind it along ``axis`` random numbers like its own, up to ``size``; integers are its own, or
    where they are to stay ``distinct`` others of their range.
    Its numbers once more would not do: with equal terms, the rounding errors of a sum all lean one way.
    """
    shape = list(tensor.shape)
    shape[axis] = size - shape[axis]
    if tensor.is_floating_point():
        more = drawn_like(tensor, generator, shape)
    elif distinct and len(left := _unused(tensor)) >= math.prod(shape):
        more = left[torch.randperm(len(left), generator=generator)[: math.prod(shape)]].reshape(shape)
    else:
        more = _picked(tensor, generator, shape)
    return torch.cat([tensor, more], axis)


def _are_distinct(tensor: Tensor) -> bool:
    return tensor.dtype != torch.bool and 1 < tensor.numel() == len(tensor.unique())


def _unused(tensor: Tensor) -> Tensor:
    """Of integers that are all different, those of their range that are left."""
    if not _are_distinct(tensor) or int(tensor.max()) >= MOST:
        return tensor[:0]
    every = torch.arange(max(0, int(tensor.min())), int(tensor.max()) + 1, dtype=tensor.dtype)
    return every[~torch.isin(every, tensor)]


def varied(parameter: Tensor, generator: Generator) -> Tensor:
    """Other numbers for a module's parameter. What it is initialized with may be all ones or zeros, with which a
    candidate is right that leaves it out; a number of no other sign, such as a variance, keeps it.
    """
    if not parameter.is_floating_point() or not parameter.numel():
        return parameter
    least, most = parameter.double().aminmax()
    if least < most:
        return drawn_like(parameter, generator)
    drawn = float(least) + torch.randn(parameter.shape, generator=generator) / 2
    return (drawn.abs() + 0.1 if least > 0 else drawn).to(parameter.dtype)


def _picked(tensor: Tensor, generator: Generator, shape: Sequence[int]) -> Tensor:
    """Elements of the tensor, at random."""
    if not tensor.numel():
        return tensor.new_zeros(shape)
    chosen = torch.randint(tensor.numel(), (math.prod(shape),), generator=generator)
    return tensor.reshape(-1)[chosen].reshape(shape)
