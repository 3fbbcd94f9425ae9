"""What happened to each element of a storage: which program stored it, which read it, whether anybody wrote it.

Programs of one launch run in any order on a GPU, and several at once. So within a launch, an element may be stored by
one program and read by another only if atomics put them in order. The interpreter runs programs one after the other;
the shadow remembers.

A stamp is ``4 * program + 2 * atomic + changed``. Program numbers grow from launch to launch: a stamp below the
launch's first is history. The launch's first number stands for "several programs", the programs follow.
"""

from dataclasses import dataclass

import numpy as np

_PAGE = 1 << 16
_LARGE = 1 << 24


@dataclass(frozen=True)
class Clash:
    """An access that is not ordered with another program's: the first such lane, and the other program's number."""

    kind: str  # "read" | "store" | "read-then-store"
    lane: int
    other: int
    atomic: bool


class Pages:
    """An array of zeros that exists only where it was written: a huge view of which a kernel touches three rows."""

    def __init__(self):
        self._pages: dict[int, np.ndarray] = {}

    def take(self, at: np.ndarray) -> np.ndarray:
        values = np.zeros(at.size, dtype=np.int32)
        for page, lanes in self._split(at):
            if page in self._pages:
                values[lanes] = self._pages[page][at[lanes] % _PAGE]
        return values

    def __setitem__(self, at: np.ndarray, values) -> None:
        values = np.broadcast_to(values, at.shape)
        for page, lanes in self._split(at):
            self._pages.setdefault(page, np.zeros(_PAGE, dtype=np.int32))[at[lanes] % _PAGE] = values[lanes]

    @staticmethod
    def _split(at: np.ndarray):
        pages = at // _PAGE
        return [(int(page), np.flatnonzero(pages == page)) for page in np.unique(pages)]


class Shadow:
    """Stamps for one storage, in units of its smallest access."""

    def __init__(self, address: int, nbytes: int, unit: int):
        self.address, self.nbytes, self.unit = address, nbytes, unit
        units = -(-nbytes // unit)
        self.writer = Pages() if units > _LARGE else np.zeros(units, dtype=np.int32)
        self.reader = Pages() if units > _LARGE else np.zeros(units, dtype=np.int32)

    def positions(self, start: int, offsets: np.ndarray, itemsize: int) -> np.ndarray:
        """Units of elements at ``offsets`` (in elements) of a view that starts at byte address ``start``."""
        first, ratio = (start - self.address) // self.unit, itemsize // self.unit
        if ratio == 1:
            return offsets + first if first else offsets
        return (offsets[:, None] * ratio + first + np.arange(ratio)).ravel()

    def read(self, at: np.ndarray, program: int, first: int) -> Clash | None:
        """A program loads. Clashes with another program's store that changed the value."""
        stamps = self.writer.take(at)
        clash = None
        if stamps.max(initial=0) >= 4 * first:
            foreign = (stamps >= 4 * first) & (stamps >> 2 != program) & (stamps & 1 == 1)
            clash = _clash("read", foreign, stamps)
        seen = self.reader.take(at)
        if seen.max(initial=0) >= first:
            self.reader[at] = np.where((seen >= first) & (seen != program), first, program)
        else:
            self.reader[at] = program
        return clash

    def store(self, at: np.ndarray, changed: np.ndarray, program: int, first: int, atomic: bool) -> Clash | None:
        """A program stores. Clashes where another stored another value, or read the value that is now replaced."""
        stamps = self.writer.take(at)
        flag = changed.astype(np.int32)
        clash = None
        number: int | np.ndarray = program
        if stamps.max(initial=0) >= 4 * first:
            here = stamps >= 4 * first
            foreign = here & (stamps >> 2 != program)
            unordered = foreign & (stamps & 2 == 0) if atomic else foreign
            clash = _clash("store", unordered & changed, stamps)
            flag |= np.where(here, stamps & 1, 0)
            if atomic:
                number = np.where(foreign, first, program)
        if clash is None:
            seen = self.reader.take(at)
            if seen.max(initial=0) >= first:
                clash = _clash("read-then-store", (seen >= first) & (seen != program) & changed, seen << 2)
        self.writer[at] = number * 4 + 2 * atomic + flag
        return clash

    def written(self, at: np.ndarray) -> np.ndarray:
        return self.writer.take(at) != 0


def _clash(kind: str, where: np.ndarray, stamps: np.ndarray) -> Clash | None:
    if not where.any():
        return None
    lane = int(where.argmax())
    return Clash(kind, lane, int(stamps[lane]) >> 2, bool(stamps[lane] & 2))
