"""One storage during a launch in passes: its words, who read and stored them, and a copy from before the first store.

A writer's stamp is `shadow.Shadow`'s, ``4 * program + 2 * atomic + changed``. Checks err on one side: what may be a
finding raises `Fallback`. Nothing is raised only where no program reads or stores what another stores, so that the
programs may run in any order.
"""

from typing import cast

import numpy as np

from .. import poison
from ..shadow import Pages, Shadow
from .fallback import Fallback
from .lanes import gather, is_run

SEVERAL = -1  # read by more than one program


class Storage:
    """The words of one storage in units of its smallest access.

    first: the launch's first program number. remembered: the most offsets of loads that are kept as they are; more
    become stamps, as they all do when the storage is stored to. What is only loaded costs no stamps.
    """

    def __init__(self, shadow: Shadow, first: int, remembered: int):
        raw = poison.memory(shadow.address, shadow.nbytes)
        self.words = raw[: raw.size // shadow.unit * shadow.unit].view(f"u{shadow.unit}")
        self.address, self.unit = shadow.address, shadow.unit
        self.writer = cast(np.ndarray, shadow.writer)  # or `Pages`, which are read with `take` alone
        self._first, self._remembered = first, remembered
        self._huge = isinstance(shadow.writer, Pages)
        self._before: tuple[np.ndarray, np.ndarray] | None = None  # words before the first store, and which had stamps
        self._reads: list[tuple[np.ndarray | slice, np.ndarray | int]] = []
        self._read_lanes = 0
        self._readers: np.ndarray | None = None
        self._loaded = False
        self.atomics: list[tuple[str, int, int]] = []  # kind, least and greatest element

    def _keep(self) -> None:
        if self._before is None:
            if self._huge:
                raise Fallback("a storage too large to copy")
            self._before = self.words.copy(), self.writer != 0

    def put_back(self, where: "slice | np.ndarray" = slice(None)) -> None:
        """As before the launch. A stamp of an earlier launch says only that somebody wrote."""
        if self._before is not None:
            self.words[where], self.writer[where] = (kept[where] for kept in self._before)

    def put_back_of(self, numbers: np.ndarray) -> None:
        """Take back what some programs stored."""
        if self._before is not None:
            self.put_back(np.flatnonzero(np.isin(self.writer >> 2, numbers)))

    def stored(self) -> "tuple[slice | np.ndarray, np.ndarray] | None":
        """Units that the launch stored, and their words."""
        if self._before is None:
            return None
        units = np.flatnonzero(self.writer >= 4 * self._first)
        run = units.size and units[-1] - units[0] + 1 == units.size
        where = slice(int(units[0]), int(units[-1]) + 1) if run else units
        return where, self.words[where].copy()

    def put(self, units: "slice | np.ndarray", words: np.ndarray) -> None:
        """What `stored` returned of an earlier launch on the same bits. The stamp is that of the first program."""
        self.words[units], self.writer[units] = words, 4 * (self._first + 1) + 1

    def read(
        self, at: np.ndarray, low: int, high: int, owners: np.ndarray | int, pattern: np.ndarray | None
    ) -> np.ndarray:
        """The words at ``at``, whose least and greatest are ``low`` and ``high``.

        owners: the program of each lane, or of all. pattern: the poison in memory that was never written.
        """
        self._loaded = True
        if self.atomics:
            raise Fallback("an atomic and a plain access to one storage")
        run = is_run(at, low, high)
        where = slice(low, high + 1) if run else at
        values = self.words[where].reshape(at.shape).copy() if run else gather(self.words, at)
        if self._before is not None:
            stamps = _look(self.writer, where, at.shape)
            if ((stamps >= 4 * self._first) & (stamps >> 2 != owners)).any():
                raise Fallback("a program reads what another stored")
        self._unwritten(at, values, pattern)
        if not self._huge:  # there, a store falls back anyway
            self._reads.append((where, owners if isinstance(owners, int) or not run else owners.reshape(at.shape)))
            self._read_lanes += 0 if run else at.size
            if self._before is not None or self._read_lanes > self._remembered:
                self._stamp_reads()
        return values

    def _unwritten(self, at: np.ndarray, values: np.ndarray, pattern: np.ndarray | None) -> None:
        if pattern is not None and pattern.itemsize == values.itemsize:
            poisoned = values.view(pattern.dtype) == pattern[0]
            if poisoned.any() and (self.writer.take(at[poisoned]) == 0).any():
                raise Fallback("memory that was never written")

    def _stamp_reads(self) -> np.ndarray:
        readers = self._readers if self._readers is not None else np.zeros(self.words.size, np.int32)
        for where, owners in self._reads:
            shape = np.shape(owners) if isinstance(where, slice) else where.shape
            seen = _look(readers, where, shape or -1)
            stamps = np.where((seen == 0) | (seen == owners), owners, SEVERAL)
            if isinstance(where, slice):
                readers[where] = stamps.ravel()
                continue
            readers[where] = stamps
            met = readers.take(where) != stamps  # two programs of this very load
            if met.any():
                readers[where[met]] = SEVERAL
        self._readers, self._reads, self._read_lanes = readers, [], 0
        return readers

    def write(self, at: np.ndarray, low: int, high: int, values: np.ndarray, owners: np.ndarray) -> None:
        """Programs store ``values`` (words) at ``at``, whose least and greatest are ``low`` and ``high``."""
        if self.atomics:
            raise Fallback("an atomic and a plain access to one storage")
        again = self._before is not None
        self._keep()
        run = is_run(at, low, high)
        where = slice(low, high + 1) if run else at
        if self._reads or self._readers is not None:
            seen = _look(self._stamp_reads(), where, at.shape)
            if ((seen != 0) & (seen != owners)).any():
                raise Fallback("a program stores what another read")
        stamps = owners * 4 + 1
        if run:
            values, stamps = values.ravel(), stamps.ravel()
        if again:
            old = self.writer[where]
            if ((old >= 4 * self._first) & (old != stamps)).any():
                raise Fallback("two programs store one element")
        self.writer[where] = stamps
        self.words[where] = values
        if not run and ((self.writer[where] != stamps).any() or (self.words[where] != values).any()):
            raise Fallback("two lanes store one element")

    def update(
        self, kind: str, at: np.ndarray, values: np.ndarray, operation: np.ufunc, pattern: np.ndarray | None
    ) -> np.ndarray:
        """An atomic operation on flat lanes, one after another; returns what is there afterwards.

        kind: operations of one kind may change places. Here all programs do the first before any does the second.
        """
        if self._loaded or (self._before is not None and not self.atomics):
            raise Fallback("an atomic and a plain access to one storage")
        low, high = int(at.min()), int(at.max())
        if any(other != kind and first <= high and low <= last for other, first, last in self.atomics):
            raise Fallback("atomics of several kinds on one element: an order of the programs")
        self.atomics.append((kind, low, high))
        self._keep()
        self._unwritten(at, self.words.take(at), pattern)
        operation.at(self.words.view(values.dtype), at, values)
        self.writer[at] = 4 * self._first + 3
        return self.words.take(at).view(values.dtype)


def _look(array: np.ndarray, where: "slice | np.ndarray", shape) -> np.ndarray:
    return array[where].reshape(shape) if isinstance(where, slice) else array.take(where)
