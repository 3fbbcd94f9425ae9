"""The lanes of an access by many programs: which of them are on, and how their elements lie in memory.

Offsets, masks and values have shape ``(rows, *block)``; rows is the number of programs of the pass, or 1 where all
programs hold the same.
"""

import functools
import math

import numpy as np

from ..address_space import distinct
from .places import Places

_SPARSE = 64  # where there are fewer possible elements for each lane, a flag for each is quicker than to sort the lanes


class Lanes:
    """The lanes that are on, in one of three forms: all of them, the same columns in every row, or any.

    at: the offsets of the lanes that are on: ``(rows, *block)``, ``(rows, columns)`` or flat.
    """

    def __init__(self, offsets: np.ndarray, mask: np.ndarray | None):
        self.rows, self.block = offsets.shape[0], offsets.shape[1:]
        self.width = math.prod(self.block)
        self.columns = self.flat = self.on = None
        if mask is None or mask.all():
            self.at = offsets
        elif mask.shape[0] == 1:
            self.columns = _indices(np.broadcast_to(mask, (1, *self.block)).ravel())
            self.at = offsets.reshape(self.rows, -1)[:, self.columns]
        else:
            self.rows = mask.shape[0]
            whole = mask if mask.shape[1:] == self.block else np.broadcast_to(mask, self.shape)
            self.on = whole.reshape(self.rows, -1)
            self.flat = _indices(self.on.ravel())
            self.at = self.pick(offsets)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the access: ``(rows, *block)``."""
        return self.rows, *self.block

    @functools.cached_property
    def places(self) -> Places:
        """Where ``at`` lies."""
        return Places(self.at)

    @property
    def every(self) -> bool:
        """Returns whether all lanes are on."""
        return self.columns is None and self.flat is None

    def pick(self, values: np.ndarray) -> np.ndarray:
        """The elements of ``(rows or 1, *block)`` in these lanes, in the order of ``at``."""
        if values.shape != self.shape:
            values = np.broadcast_to(values, self.shape)
        if self.every:
            return values
        return values.ravel()[self.flat] if self.columns is None else values.reshape(self.rows, -1)[:, self.columns]

    def put(self, values: np.ndarray, into: np.ndarray) -> None:
        """Write values in the order of ``at`` into a C-contiguous array of ``(rows, *block)``."""
        if self.columns is None:
            into.reshape(-1)[self.flat] = values
        else:
            into.reshape(into.shape[0], -1)[:, self.columns] = values

    def owners(self, numbers: np.ndarray) -> np.ndarray:
        """The number of each lane's program, shaped like ``at``; ``numbers`` has one for each row."""
        if self.flat is not None:
            owners: np.ndarray = np.repeat(numbers, self.width)[self.flat]
            return owners
        return np.broadcast_to(numbers.reshape(-1, *(1,) * (self.at.ndim - 1)), self.at.shape)

    def counts(self) -> int | np.ndarray:
        """Lanes that are on: one number where every row has as many, else one for each row."""
        if self.on is None:
            same: int = self.at.size // self.rows
            return same
        each: np.ndarray = np.count_nonzero(self.on, axis=1)
        return each

    def distinct(self) -> int | np.ndarray:
        """The number of different elements that the lanes of a row ask for, in the form of `counts`."""
        if self.places.run:
            return self.counts()
        if self.flat is None:
            rows = self.at.reshape(self.rows, -1)
            if (rows[:, 1:] > rows[:, :-1]).all():
                return self.counts()
            if (rows - rows[:, :1] == rows[0] - rows[0, 0]).all():  # the first row again, somewhere else
                return distinct(rows[0])
            row, at = np.arange(rows.size) // rows.shape[1], rows.ravel()
        else:
            row, at = np.repeat(np.arange(self.rows), self.width)[self.flat], self.at
            if ((at[1:] > at[:-1]) | (row[1:] > row[:-1])).all():
                return self.counts()
        low, high = int(at.min()), int(at.max())
        span = high - low + 1
        elements = row * span + (at - low)
        if span * self.rows < _SPARSE * at.size:  # a flag for each element that a row might ask for
            asked = np.zeros(span * self.rows, bool)
            asked[elements] = True
            if np.count_nonzero(asked) == at.size:
                return self.counts()
            each: np.ndarray = np.count_nonzero(asked.reshape(self.rows, span), axis=1)
            return each
        return np.bincount(np.unique(elements) // span, minlength=self.rows)


def _indices(on: np.ndarray) -> "slice | np.ndarray":
    """Positions of the True elements; a slice where they come first."""
    n = int(np.count_nonzero(on))
    return slice(0, n) if on[:n].all() else np.flatnonzero(on)
