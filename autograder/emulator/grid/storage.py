"""One storage during a launch in passes: its words, who read and stored them, and a copy from before the first store.

A writer's stamp is `shadow.Shadow`'s, ``4 * program + 2 * atomic + changed``. Checks err on one side: what may be a
finding raises `Fallback`. Nothing is raised only where no program reads or stores what another stores, so that the
programs may run in any order.
"""

import numpy as np

from .. import poison
from ..shadow import Pages, Shadow
from .fallback import Fallback
from .lanes import is_run

SEVERAL = -1  # read by more than one program
_MOST_READS = 1 << 22  # offsets that are remembered before they become stamps


class Storage:
    """The words of one storage in units of its smallest access. ``first``: the launch's first program number."""

    def __init__(self, shadow: Shadow, first: int):
        raw = poison.memory(shadow.address, shadow.nbytes)
        self.words = raw[: raw.size // shadow.unit * shadow.unit].view(f"u{shadow.unit}")
        self.address, self.unit, self.writer = shadow.address, shadow.unit, shadow.writer
        self.first = first
        self._huge = isinstance(shadow.writer, Pages)
        self._before: tuple[np.ndarray, np.ndarray] | None = None  # words and stamps before the first store
        self._reads: list[tuple[np.ndarray, np.ndarray | int]] = []
        self._read_lanes = 0
        self._readers: np.ndarray | None = None
        self._loaded = self._atomic = False

    def _keep(self) -> None:
        if self._before is None:
            if self._huge:
                raise Fallback("a storage too large to copy")
            self._before = self.words.copy(), self.writer.copy()

    def put_back(self) -> None:
        """As before the launch."""
        if self._before is not None:
            self.words[...], self.writer[...] = self._before

    def put_back_of(self, numbers: np.ndarray) -> None:
        """Take back what some programs stored."""
        if self._before is not None:
            where = np.flatnonzero(np.isin(self.writer >> 2, numbers))
            self.words[where], self.writer[where] = (kept[where] for kept in self._before)

    def read(self, at: np.ndarray, owners: np.ndarray | int, values: np.ndarray, pattern: np.ndarray | None) -> None:
        """Programs have loaded ``values``. ``pattern``: the poison in memory that nobody wrote."""
        self._loaded = True
        if self._atomic:
            raise Fallback("an atomic and a plain access to one storage")
        if self._before is not None:
            stamps = self.writer.take(at)
            if ((stamps >= 4 * self.first) & (stamps >> 2 != owners)).any():
                raise Fallback("a program reads what another stored")
        self._unwritten(at, values, pattern)
        if self._huge:
            return  # a store would fall back anyway
        self._reads.append((at, owners))
        self._read_lanes += at.size
        if self._before is not None or self._read_lanes > _MOST_READS:
            self._stamp_reads()

    def _unwritten(self, at: np.ndarray, values: np.ndarray, pattern: np.ndarray | None) -> None:
        if pattern is not None and pattern.itemsize == values.itemsize:
            poisoned = values.view(pattern.dtype) == pattern[0]
            if poisoned.any() and (self.writer.take(at[poisoned]) == 0).any():
                raise Fallback("memory that nobody wrote")

    def _stamp_reads(self) -> None:
        if self._readers is None:
            self._readers = np.zeros(self.words.size, np.int32)
        for at, owners in self._reads:
            seen = self._readers.take(at)
            stamps = np.where((seen == 0) | (seen == owners), owners, SEVERAL)
            self._readers[at] = stamps
            met = self._readers.take(at) != stamps  # two programs of this very load
            if met.any():
                self._readers[at[met]] = SEVERAL
        self._reads, self._read_lanes = [], 0

    def write(self, at: np.ndarray, low: int, high: int, values: np.ndarray, owners: np.ndarray) -> None:
        """Programs store ``values`` (words) at ``at``, whose least and greatest are ``low`` and ``high``."""
        if self._atomic:
            raise Fallback("an atomic and a plain access to one storage")
        again = self._before is not None
        self._keep()
        if self._reads or self._readers is not None:
            self._stamp_reads()
            seen = self._readers.take(at)
            if ((seen != 0) & (seen != owners)).any():
                raise Fallback("a program stores what another read")
        stamps = owners * 4 + 1
        run = is_run(at, low, high)
        if run:
            at, values, stamps = slice(low, high + 1), values.ravel(), stamps.ravel()
        if again:
            old = self.writer[at]
            if ((old >= 4 * self.first) & (old != stamps)).any():
                raise Fallback("two programs store one element")
        self.writer[at] = stamps
        self.words[at] = values
        if not run and ((self.writer[at] != stamps).any() or (self.words[at] != values).any()):
            raise Fallback("two lanes store one element")

    def update(self, at: np.ndarray, values: np.ndarray, operation: np.ufunc, pattern: np.ndarray | None) -> np.ndarray:
        """An atomic operation on flat lanes, one after another; returns what is there afterwards."""
        if self._loaded or (self._before is not None and not self._atomic):
            raise Fallback("an atomic and a plain access to one storage")
        self._keep()
        self._atomic = True
        self._unwritten(at, self.words.take(at), pattern)
        operation.at(self.words.view(values.dtype), at, values)
        self.writer[at] = 4 * self.first + 3
        return self.words.take(at).view(values.dtype)
