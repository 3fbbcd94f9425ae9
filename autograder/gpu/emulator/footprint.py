"""Says what a launch touches of memory, and what a storage held before, kept block by block when one is first stored
to: it costs what is stored.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .address_space import AddressSpace

BLOCK = 1 << 16  # bytes, a multiple of every element's size


class Kept:
    """The first contents of the blocks of ``raw``, the bytes of a storage, that were kept: ``blocks``, by number."""

    def __init__(self, raw: np.ndarray):
        self.raw = raw
        self.blocks: dict[int, np.ndarray] = {}

    @property
    def nbytes(self) -> int:
        """Bytes that were kept."""
        return sum(block.nbytes for block in self.blocks.values())

    def keep(self, low: int, high: int, places: Callable[[], np.ndarray] | None = None) -> list[int]:
        """Keeps the blocks of the bytes ``low`` to ``high``, which are about to be stored; returns which were new.

        places: gives the bytes at which elements begin, where they are not one run of neighbours.
        """
        first, last = low // BLOCK, high // BLOCK
        new = [number for number in range(first, last + 1) if number not in self.blocks]
        if len(new) > 1 and places is not None:
            stored = np.zeros(last - first + 1, dtype=bool)
            stored[places() // BLOCK - first] = True
            new = [number for number in new if stored[number - first]]
        for number in new:
            self.blocks[number] = self.now(number).copy()
        return new

    def now(self, number: int) -> np.ndarray:
        """Returns what a block holds now, as a view."""
        return self.raw[number * BLOCK : (number + 1) * BLOCK]

    def put_back(self) -> None:
        """Restores what was kept."""
        for number, before in self.blocks.items():
            self.now(number)[:] = before


@dataclass(frozen=True)
class ConcurrentLaunch:
    """An earlier launch that a GPU may run at the same time. numbers: of its programs. who: its kernel and line.
    dependent: whether the present one comes after it from its `gdc_wait` on; else nothing in it orders the two.
    """

    numbers: range
    who: str
    dependent: bool = False


class Footprint:
    """The tensors of a launch, and what their storages held before it.

    first: the launch's first program number; the programs' own follow it. space: the launch's tensors. kept: by
    address, what the storages held that the launch has stored to. ordered: whether its programs may wait for each
    other. alone: why they ran one at a time, "" where they ran together or were not to.
    """

    alone = ""

    def __init__(self, kernel: str, grid: tuple[int, int, int], first: int):
        self.kernel, self.grid, self.first = kernel, grid, first
        self.space = AddressSpace()
        self.kept: dict[int, Kept] = {}
        self.ordered = False
        self.products: set[tuple[int, int]] = set()

    def index(self, number: int) -> tuple[int, int, int] | None:
        """Grid index of a program number; None for "several programs"."""
        return None if number <= self.first else self.grid_index(number)

    def grid_index(self, number: int) -> tuple[int, int, int]:
        """Grid index of a program number that stands for one program."""
        flat, z = divmod(number - self.first - 1, self.grid[2])
        return (*divmod(flat, self.grid[1]), z)
