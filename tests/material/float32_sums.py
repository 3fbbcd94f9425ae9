"""Float32 arithmetic as honest code may order it: sums and products of matrices in many orders, exponentials in two
bases.

PyTorch's `cumsum` adds up in float64 on a CPU; NumPy's adds in the dtype it is given, one element after the other.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

LOG2E = 1 / math.log(2)


def in_order(x: Tensor) -> Tensor:
    """One element after the other, over the last axis."""
    if not x.shape[-1]:
        return x.sum(-1)
    with np.errstate(invalid="ignore"):  # inf - inf
        return torch.from_numpy(np.add.accumulate(x.numpy(), axis=-1)[..., -1].copy())


def from_the_end(x: Tensor) -> Tensor:
    return in_order(x.flip(-1))


def in_a_tree(x: Tensor) -> Tensor:
    """The two halves, element by element, and so on: a reduction of lanes."""
    while x.shape[-1] > 1:
        x = torch.nn.functional.pad(x, (0, x.shape[-1] % 2))
        half = x.shape[-1] // 2
        x = x[..., :half] + x[..., half:]
    return x.sum(-1)


def in_lanes(width: int) -> Callable[[Tensor], Tensor]:
    """A block of accumulators to which every block of the row is added, and a tree at the end."""
    return lambda x: in_a_tree(in_order(blocks_of(width, x).mT.contiguous()))


def blocks_of(width: int, x: Tensor) -> Tensor:
    width = min(width, max(x.shape[-1], 1))
    return torch.nn.functional.pad(x, (0, -x.shape[-1] % width)).unflatten(-1, (-1, width))


def in_blocks(width: int) -> Callable[[Tensor], Tensor]:
    """The sum of each block of the row, one after the other."""
    return lambda x: in_order(in_a_tree(blocks_of(width, x)))


def in_float64(x: Tensor) -> Tensor:
    return x.double().sum(-1).float()


@dataclass(frozen=True)
class Float32:
    """total: of the last axis. block: how many terms of a product are taken at a time; 0: all."""

    name: str
    total: Callable[[Tensor], Tensor] = lambda x: x.sum(-1)
    block: int = 0
    base2: bool = False

    def sum(self, x: Tensor, dim: int = -1) -> Tensor:
        """With the axis kept, at length 1."""
        return self.total(x.movedim(dim, -1).contiguous()).unsqueeze(-1).movedim(-1, dim)

    def mean(self, x: Tensor, dim: int = -1) -> Tensor:
        return self.sum(x, dim) / x.shape[dim]

    def exp(self, x: Tensor) -> Tensor:
        return torch.exp2(x * LOG2E) if self.base2 else x.exp()

    def log(self, x: Tensor) -> Tensor:
        return x.log2() * math.log(2) if self.base2 else x.log()

    def product(self, x: Tensor, y: Tensor) -> Tensor:
        """x @ y, of matrices or batches of them, block by block along the inner axis."""
        size = self.block or max(x.shape[-1], 1)
        parts = [x[..., i : i + size] @ y[..., i : i + size, :] for i in range(0, max(x.shape[-1], 1), size)]
        result = parts[0]
        for part in parts[1:]:
            result = result + part
        return result


ARITHMETIC = (
    Float32("PyTorch's order"),
    Float32("one by one", in_order, block=1),
    Float32("from the end", from_the_end, block=3),
    Float32("a tree, base 2", in_a_tree, block=32, base2=True),
    Float32("16 lanes", in_lanes(16), block=16),
    Float32("1024 lanes, base 2", in_lanes(1024), base2=True),
    Float32("blocks of 32", in_blocks(32), block=32),
    Float32("blocks of 1024", in_blocks(1024), block=64),
    Float32("float64 sums", in_float64),
)
BASES = (Float32("base e"), Float32("base 2", base2=True))  # where there is nothing to add up
