"""Says what the lanes of a pass's programs have loaded and stored since their last barrier, as `..touched` has it of
one.
"""

import functools
from dataclasses import dataclass, replace

import numpy as np

from ..address_space import Region
from ..touched import Touched


@dataclass(frozen=True)
class Earlier:
    """An access. rows: of the pass, those that made it, in ascending order. offsets, mask: one row for each, or one for
    all; without a mask all lanes are on.
    """

    region: Region
    rows: np.ndarray
    offsets: np.ndarray
    mask: np.ndarray | None = None

    def without(self, rows: np.ndarray) -> "Earlier | None":
        """The access of the other rows, which have not come to a barrier; None where there is no other."""
        if np.array_equal(rows, self.rows):
            return None
        left = ~np.isin(self.rows, rows)
        return self.of(left) if left.any() else None

    def of(self, some: np.ndarray) -> "Earlier":
        """The access of some of its rows."""
        mask = None if self.mask is None else _some(self.mask, some)
        return replace(self, rows=self.rows[some], offsets=_some(self.offsets, some), mask=mask)

    def meets(self, later: "Earlier") -> bool:
        """Returns whether a later access comes, in some of these rows, upon elements that other lanes of the row
        touched.
        """
        if not np.array_equal(self.rows, later.rows):
            _, mine, others = np.intersect1d(self.rows, later.rows, assume_unique=True, return_indices=True)
            return bool(mine.size) and self.of(mine).meets(later.of(others))
        (low, high), (first, last) = self._range, later._range
        near = (low <= last) & (first <= high)
        if not near.any() or (later.region is self.region and _equal(self.offsets, later.offsets)):
            return False
        return Touched(*self.of(near)._apart()).meets(*later.of(near)._apart())

    @functools.cached_property
    def _range(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last element of each row, those that are off among them."""
        at = self.offsets.reshape(len(self.offsets), -1) + self._first
        low, high = at.min(axis=1), at.max(axis=1)
        return np.broadcast_to(low, len(self.rows)), np.broadcast_to(high, len(self.rows))

    @property
    def _first(self) -> int:
        """Where the region begins in its storage."""
        return (self.region.real - self.region.address) // self.region.itemsize

    def _apart(self) -> tuple[np.ndarray, np.ndarray]:
        """Elements and lanes that are on, with a range of numbers for each row."""
        shape = (len(self.rows), *self.offsets.shape[1:])
        at = np.broadcast_to(self.offsets, shape).astype(np.int64).reshape(len(self.rows), -1) + self._first
        span = self.region.held // self.region.itemsize
        at = at + self.rows[:, None] * span
        by = np.broadcast_to(np.arange(at.shape[1]), at.shape)
        if self.mask is None:
            return at.ravel(), by.ravel()
        on = np.broadcast_to(self.mask, shape).reshape(at.shape)
        return at[on], by[on]


def _some(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return values if len(values) == 1 else values[rows]


def _equal(first: np.ndarray, other: np.ndarray) -> bool:
    return first.shape[1:] == other.shape[1:] and bool((first == other).all())
