"""Says what happened to each element of a storage: which program stored it, which read it, whether anybody wrote it.

Programs of one launch run in any order on a GPU, and several at once. So within a launch, an element may be stored by
one program and read by another only if atomics put them in order. The interpreter runs programs one after the other;
the shadow remembers.

A stamp is ``4 * program + 2 * atomic + changed``. Program numbers grow from launch to launch: a stamp below the
launch's first is history. The launch's first number stands for "several programs", the programs follow. Where a program
has released a lock, its stamps have an epoch beside them: how often it had.
"""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .footprint import ConcurrentLaunch
from .order import LATE, Order

_PAGE = 1 << 16
_SMALL = 1 << 18  # units
_LARGE = 1 << 29  # units; a view with gaps of gigabytes has more


@dataclass(frozen=True)
class Clash:
    """An access that is not ordered with another program's: the first such lane, and the other program's number.
    late: the other program had given back a lock before, which the present one took. hurried: one of its threads had,
    while others were not yet there.
    """

    kind: str  # "read" | "store" | "read-then-store" | "equal", which is a store of the value that was there
    lane: int
    other: int
    atomic: bool
    late: bool
    hurried: bool


class Pages:
    """An array of zeros that exists only where it was written: a huge view of which a kernel touches three rows."""

    def __init__(self) -> None:
        self._pages: dict[int, np.ndarray] = {}

    def take(self, at: np.ndarray) -> np.ndarray:
        """The values at these positions, int32."""
        values = np.zeros(at.size, dtype=np.int32)
        for page, lanes in self._split(at):
            if page in self._pages:
                values[lanes] = self._pages[page][at[lanes] % _PAGE]
        return values

    def __setitem__(self, at: np.ndarray, values: int | np.ndarray) -> None:
        values = np.broadcast_to(values, at.shape)
        for page, lanes in self._split(at):
            self._pages.setdefault(page, np.zeros(_PAGE, dtype=np.int32))[at[lanes] % _PAGE] = values[lanes]

    @staticmethod
    def _split(at: np.ndarray) -> list[tuple[int, np.ndarray]]:
        pages = at // _PAGE
        return [(int(page), np.flatnonzero(pages == page)) for page in np.unique(pages)]


class Epochs:
    """The epoch of each unit's stamp; takes no memory before there is one other than 0."""

    def __init__(self, units: int):
        self._units = units
        self._array: Pages | np.ndarray | None = None

    def take(self, at: np.ndarray) -> np.ndarray:
        """The epochs at these units, int32."""
        return np.zeros(at.size, dtype=np.int32) if self._array is None else self._array.take(at)

    def __setitem__(self, at: np.ndarray, epoch: int | np.ndarray) -> None:
        if self._array is None and np.any(epoch):
            self._array = _stamps(self._units)
        if self._array is not None:
            self._array[at] = epoch


def zeros(units: int) -> np.ndarray:
    """An int32 zero for each unit. Of a large array the system makes the pages that are touched, and no others; NumPy
    clears all of it where it takes memory that was freed. Raises MemoryError where a limit on all of it refuses.
    """
    if units < _SMALL:
        return np.zeros(units, dtype=np.int32)
    try:
        return np.frombuffer(mmap.mmap(-1, 4 * units, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), dtype=np.int32)
    except OSError as error:
        raise MemoryError(str(error)) from None


def _stamps(units: int) -> Pages | np.ndarray:
    try:
        return Pages() if units > _LARGE else zeros(units)
    except MemoryError:
        return Pages()


class Shadow:
    """Stamps for one storage, in units of its smallest access."""

    def __init__(self, address: int, nbytes: int, unit: int):
        self.address, self.nbytes, self.unit = address, nbytes, unit
        units = -(-nbytes // unit)
        self.writer, self.reader = _stamps(units), _stamps(units)
        self.stored = 0  # bytes, by all programs of all launches
        self.by_host: np.ndarray | None = None  # a flag for each unit, where PyTorch has written some
        self._written_in, self._read_in = Epochs(units), Epochs(units)

    def positions(self, start: int, offsets: np.ndarray, itemsize: int) -> np.ndarray:
        """Units of elements at ``offsets`` (in elements) of a view that starts at byte address ``start``."""
        first, ratio = (start - self.address) // self.unit, itemsize // self.unit
        if ratio == 1:
            return offsets + first if first else offsets
        return (offsets[:, None] * ratio + first + np.arange(ratio)).ravel()

    def read(self, at: np.ndarray, program: int, first: int, order: Order) -> Clash | None:
        """Notes a load by a program; returns its clash with another program's store that changed the value."""
        stamps = self.writer.take(at)
        clash = None
        if stamps.max(initial=0) >= 4 * first:
            foreign = (stamps >= 4 * first) & (stamps >> 2 != program) & (stamps & 1 == 1)
            clash = _clash("read", foreign, stamps, self._written_in.take(at), first, order)
        seen = self.reader.take(at)
        if seen.max(initial=0) >= first:
            foreign = (seen >= first) & (seen != program)
            self._read_in[at] = self._epochs_of_readers(at, seen, foreign, first, order)
            self.reader[at] = np.where(foreign, first, program)
        else:
            self.reader[at] = program
            self._read_in[at] = order.epoch
        return clash

    def _epochs_of_readers(
        self, at: np.ndarray, seen: np.ndarray, foreign: np.ndarray, first: int, order: Order
    ) -> int | np.ndarray:
        """The epoch of the present reader, or LATE where an earlier one had given back the lock that this one holds:
        of several readers no more is known.
        """
        if not order.locked:
            return order.epoch
        before = self._read_in.take(at)
        epochs = np.where(foreign & (before == LATE), LATE, order.epoch)
        for program, epoch, lanes in _deeds(seen, before, foreign):
            if order.released(program) and not order.ordered(program, epoch, first):
                epochs[lanes] = LATE
        return epochs

    def store(
        self,
        at: np.ndarray,
        changed: np.ndarray,
        program: int,
        first: int,
        order: Order,
        atomic: bool,
        reads: bool = False,
    ) -> Clash | None:
        """Notes a store by a program; returns its clash with another that stored another value, or that read the value
        which is now replaced; or that stored the same value, without an atomic.

        reads: what is stored depends on what was there, so that the other's value is lost where this one is the same.
        """
        stamps = self.writer.take(at)
        flag = changed.astype(np.int32)
        clash = equal = None
        number: int | np.ndarray = program
        if stamps.max(initial=0) >= 4 * first:
            here = stamps >= 4 * first
            foreign = here & (stamps >> 2 != program)
            unordered = foreign & (stamps & 2 == 0) if atomic else foreign
            matters = changed | (stamps & 1 == 1) if reads else changed
            clash = _clash("store", unordered & matters, stamps, self._written_in.take(at), first, order)
            if not atomic:
                same = foreign & (stamps & 2 == 0) & ~changed
                equal = _clash("equal", same, stamps, self._written_in.take(at), first, order)
            flag |= np.where(here, stamps & 1, 0)
            if atomic:
                number = np.where(foreign, first, program)
        if clash is None:
            seen = self.reader.take(at)
            if seen.max(initial=0) >= first:
                where = (seen >= first) & (seen != program) & changed
                clash = _clash("read-then-store", where, seen << 2, self._read_in.take(at), first, order)
        self.writer[at] = number * 4 + 2 * atomic + flag
        self._written_in[at] = order.epoch
        return clash or equal

    def postpone(self, at: np.ndarray, program: int, epoch: int, loaded: bool) -> None:
        """Gives what a program has stored, or loaded, at these units another epoch."""
        stamps, epochs = (self.reader, self._read_in) if loaded else (self.writer, self._written_in)
        programs = stamps.take(at) if loaded else stamps.take(at) >> 2
        epochs[at[programs == program]] = epoch

    def met(self, at: np.ndarray, beside: ConcurrentLaunch, stores: bool, atomic: bool) -> np.ndarray:
        """Where a launch that may run at the same time stored these units, or read what is stored now."""
        first, end = beside.numbers.start, beside.numbers.stop
        stamps = self.writer.take(at)
        met: np.ndarray = (stamps >= 4 * first) & (stamps < 4 * end)
        if atomic:
            met &= stamps & 2 == 0
        if stores:
            readers = self.reader.take(at)
            met |= (readers >= first) & (readers < end)
        return met

    def has(self, beside: ConcurrentLaunch) -> bool:
        """Returns whether a launch stored anything here, or loaded, as far as nobody has done so since."""
        if not isinstance(self.writer, np.ndarray) or not isinstance(self.reader, np.ndarray):
            return False
        first, end = beside.numbers.start, beside.numbers.stop
        stored = (self.writer >= 4 * first) & (self.writer < 4 * end)
        return bool((stored | (self.reader >= first) & (self.reader < end)).any())

    def written(self, at: np.ndarray) -> np.ndarray:
        """Returns whether any program of any launch has stored these units, or PyTorch has written them."""
        written: np.ndarray = self.writer.take(at) != 0
        return written if self.by_host is None else written | self.by_host.take(at)


def _deeds(programs: np.ndarray, epochs: np.ndarray, where: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Each program and epoch among the lanes ``where``, with the lanes that it has of all of them."""
    for pair in np.unique(programs[where].astype(np.int64) << 32 | epochs[where]).tolist():
        program, epoch = divmod(pair, 1 << 32)
        yield program, epoch, (programs == program) & (epochs == epoch)


def _clash(
    kind: str, where: np.ndarray, stamps: np.ndarray, epochs: np.ndarray, first: int, order: Order
) -> Clash | None:
    """The first of the lanes ``where`` that no lock puts in order; None where there is none."""
    programs = stamps >> 2
    if order.locked:
        for program, epoch, lanes in _deeds(programs, epochs, where):
            if order.ordered(program, epoch, first):
                where = where & ~lanes
    if not where.any():
        return None
    lane = int(where.argmax())
    other = int(programs[lane])
    late = order.released(other)
    return Clash(kind, lane, other, bool(stamps[lane] & 2), late, late and (other, int(epochs[lane])) in order.hurried)
