"""One storage during a launch in passes: its words, who read and stored them, and a copy from before the first store.

A writer's stamp is `shadow.Shadow`'s, ``4 * program + 2 * atomic + changed``. Checks err on one side: what may be a
finding raises `Fallback`. Nothing is raised only where no program reads or stores what another stores, so that the
programs may run in any order, or where `releases` has the one come after the other. Atomics whose result nobody uses
are done when all programs have run, as no program reads what they leave; the others are done at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from ..footprint import BLOCK, Kept
from ..order import LATE
from ..shadow import Pages, Shadow, zeros
from .fallback import Fallback
from .lanes import Lanes
from .places import Places
from .releases import Releases
from .turns import WordChange, one_after_another

SEVERAL = -1  # read by more than one program
_MOST_DUE = 1 << 20  # lanes of atomics that are put off, where they may change places
_MOST_SUMS = 1 << 22  # lanes of sums of floats, which are put off until the end of the launch: 16 bytes each


class _Due(NamedTuple):
    """Atomics that are still to be done: of each lane the unit, the value, and the program."""

    operation: np.ufunc
    at: np.ndarray
    values: np.ndarray
    owners: np.ndarray


@dataclass
class Accessed:
    """An access that was made. owners: the program of each lane, or of all. when: as `Releases` count."""

    places: Places
    owners: np.ndarray | int
    when: int
    loaded: bool
    stamped: bool


@dataclass(frozen=True)
class Exchange:
    """An atomic that is done at once. change: makes the new words of the old ones and the ``operands``.

    ranks: of each lane's program, where in the launch's order it comes, as ``rank_of`` says it of a program's number.
    alone: each program has one lane.
    """

    change: WordChange
    operands: tuple[np.ndarray, ...]
    ranks: np.ndarray
    rank_of: Callable[[np.ndarray], np.ndarray]
    alone: bool
    acquires: bool
    releases: bool


class Storage:
    """The words of one storage in units of its smallest access.

    kept: what it held before the launch. first: the launch's first program number. remembered: the most offsets of
    loads that are kept as they are; more become stamps, as they all do when the storage is stored to. What is only
    loaded costs no stamps. releases: the launch's.
    exchanged: whether an atomic was done at once.
    """

    def __init__(self, shadow: Shadow, kept: Kept, first: int, remembered: int, releases: Releases):
        self.words = kept.raw[: kept.raw.size // shadow.unit * shadow.unit].view(f"u{shadow.unit}")
        self.address, self.unit = shadow.address, shadow.unit
        self.writer = cast(np.ndarray, shadow.writer)  # or `Pages`, which are read with `take` alone
        self._told = shadow.reader
        self._first, self._remembered, self._releases = first, remembered, releases
        self._huge = isinstance(shadow.writer, Pages)
        self._kept, self._stamped = kept, dict[int, np.ndarray]()  # by block: which units had stamps before
        self._least, self._most = self.words.size, -1  # of all units stored
        self._reads: list[Accessed] = []
        self._read_lanes = 0
        self._readers: np.ndarray | None = None
        self._when: dict[bool, np.ndarray] = {}  # of the stamp at each unit, by whether it is a reader's
        self._loaded = self._written = self.exchanged = False
        self.atomics: dict[str, tuple[int, int]] = {}  # least and greatest element, by kind
        self._due: list[_Due] = []
        self._lanes = 0  # of all that were due at one time
        self._ordered = False  # whether a sum of floats is due: its bits depend on the order of the programs
        self.begin()

    def begin(self) -> None:
        """Begins a pass."""
        self._low, self._high = self.words.size, -1  # of the units that the pass stores
        self._begun = len(self._due)
        self._exchanged_at: list[np.ndarray] = []  # in this pass, by blocks
        self.final = False  # whether atomics of this pass are done, and cannot be taken back

    def _keep(self, places: Places) -> None:
        if self._huge:
            raise Fallback("a storage too large for a stamp at each element")
        unit = self.unit
        at = None if places.run else lambda: places.at.ravel() * unit
        for number in self._kept.keep(places.low * unit, places.high * unit + unit - 1, at):
            self._stamped[number] = self.writer[self._units(number)] != 0
        self._low, self._high = min(self._low, places.low), max(self._high, places.high)
        self._least, self._most = min(self._least, places.low), max(self._most, places.high)

    def _units(self, number: int) -> slice:
        """The units of a block."""
        return slice(number * BLOCK // self.unit, min((number + 1) * BLOCK // self.unit, self.words.size))

    def put_back(self) -> None:
        """Restores what was before the launch. A stamp of an earlier launch says only that somebody wrote."""
        self._kept.put_back()
        for number, stamped in self._stamped.items():
            self.writer[self._units(number)] = stamped

    def put_back_of(self, numbers: np.ndarray) -> None:
        """Takes back what some programs of this pass stored."""
        for place, due in enumerate(self._due[self._begun :], self._begun):
            others = ~np.isin(due.owners, numbers)
            self._due[place] = _Due(due.operation, due.at[others], due.values[others], due.owners[others])
        for number in range(self._low * self.unit // BLOCK, self._high * self.unit // BLOCK + 1):
            if number in self._stamped:
                units, before = self._units(number), self._kept.blocks[number]
                mine = np.isin(self.writer[units] >> 2, numbers)
                self.words[units][mine] = before[: before.size // self.unit * self.unit].view(self.words.dtype)[mine]
                self.writer[units][mine] = self._stamped[number][mine]

    def stored(self) -> "tuple[slice | np.ndarray, np.ndarray] | None":
        """Units that the launch stored, and their words."""
        if self._most < 0:
            return None
        units = np.flatnonzero(self.writer >= 4 * self._first)
        run = units.size and units[-1] - units[0] + 1 == units.size
        where = slice(int(units[0]), int(units[-1]) + 1) if run else units
        return where, self.words[where].copy()

    def put(self, units: "slice | np.ndarray", words: np.ndarray) -> None:
        """Says what `stored` returned of an earlier launch on the same bits. The stamp is that of the first program."""
        self.words[units], self.writer[units] = words, 4 * (self._first + 1) + 1

    def _touched(self, places: Places) -> bool:
        """Returns whether the launch may have stored there."""
        return places.low <= self._most and self._least <= places.high

    def stored_in(self, places: Places) -> bool:
        """Returns whether the launch has stored any of these elements."""
        return self._touched(places) and bool((places.take(self.writer) >= 4 * self._first).any())

    def _ordered_behind(
        self,
        foreign: np.ndarray,
        programs: np.ndarray,
        places: Places,
        owners: np.ndarray | int,
        loaded: bool,
        now: int = LATE,
    ) -> bool:
        """Returns whether what other ``programs`` did where ``foreign`` is set comes before what the owners do."""
        count = np.count_nonzero(foreign)
        if not count or not self._releases.time:
            return not count
        when = places.take(self._when[loaded]) if loaded in self._when else 0
        columns = (programs, when, owners)
        lanes = [a[foreign] if isinstance(a, np.ndarray) else np.full(count, a) for a in columns]
        changes = np.zeros(count, bool)  # neighbours are mostly alike
        changes[0] = True
        for lane in lanes:
            changes[1:] |= lane[1:] != lane[:-1]
        return self._releases.order(set(zip(*(lane[changes].tolist() for lane in lanes), strict=True)), now)

    def _behind_stores(self, places: Places, owners: np.ndarray | int, plain: bool = False) -> bool:
        """Returns whether all that other programs stored there comes before. plain: without atomics."""
        if not self._touched(places):
            return True
        stamps = places.take(self.writer)
        foreign = (stamps >= 4 * self._first) & (stamps >> 2 != owners)
        if plain:
            foreign &= stamps & 2 == 0
        return self._ordered_behind(foreign, stamps >> 2, places, owners, loaded=False)

    def _behind_reads(self, places: Places, owners: np.ndarray) -> bool:
        """Returns whether all that other programs read there comes before; then these reads are forgotten."""
        if not self._reads and self._readers is None:
            return True
        readers = self._stamp_reads()
        seen = places.take(readers)
        foreign = (seen != 0) & (seen != owners)
        if not self._ordered_behind(foreign, seen, places, owners, loaded=True):
            return False
        if foreign.any():
            readers[places.at[foreign]] = 0  # who comes behind this store comes behind them
        return True

    def _date(self, at: "slice | np.ndarray", when: int | np.ndarray, loaded: bool) -> None:
        """Notes the time of stamps; where there is no array all are from before the first release."""
        if self._releases.time and loaded not in self._when and np.any(when):
            self._when[loaded] = zeros(self.words.size)
        if loaded in self._when:
            self._when[loaded][at] = when

    def hurry(self, access: Accessed) -> None:
        """Has what threads did that have not come to a barrier come before nothing: another thread has released."""
        access.when = LATE
        if access.stamped:
            places = access.places
            stamps = places.take(cast(np.ndarray, self._readers)) if access.loaded else places.take(self.writer) >> 2
            mine = stamps == access.owners
            self._date(places.at[mine], LATE, access.loaded)

    def read(self, places: Places, owners: np.ndarray | int, pattern: np.ndarray | None) -> tuple[np.ndarray, Accessed]:
        """The words there. owners: the program of each lane, or of all. pattern: the poison in memory that was never
        written.
        """
        self._loaded = True
        if self.atomics:
            raise Fallback("an atomic and a plain access to one storage")
        values = places.take(self.words)
        if not self._behind_stores(places, owners):
            raise Fallback("a program reads what another stored")
        self._unwritten(places, values, pattern)
        access = Accessed(places, owners, self._releases.time, loaded=True, stamped=False)
        if not self._huge:  # there, a store falls back anyway
            self._reads.append(access)
            self._read_lanes += 0 if places.run else places.size
            if self._most >= 0 or self._read_lanes > self._remembered:
                self._stamp_reads()
        return values, access

    def _unwritten(self, places: Places, values: np.ndarray, pattern: np.ndarray | None) -> None:
        if pattern is not None and pattern.itemsize == values.itemsize:
            poisoned = values.view(pattern.dtype) == pattern[0]
            if poisoned.any() and (self.writer.take(places.at[poisoned]) == 0).any():
                raise Fallback("memory that was never written")

    def _stamp_reads(self) -> np.ndarray:
        self._readers = readers = self._readers if self._readers is not None else zeros(self.words.size)
        for access in self._reads:
            places, owners = access.places, access.owners
            seen = places.take(readers)
            foreign = (seen != 0) & (seen != owners)
            ordered = self._ordered_behind(foreign, seen, places, owners, loaded=True, now=access.when)
            stamps = np.asarray(owners) if ordered else np.where(foreign, SEVERAL, owners)
            places.put(readers, stamps)
            met = places.take(readers) != stamps if not places.run else np.False_  # two programs of this very load
            if met.any():
                readers[places.at[met]] = SEVERAL
            self._date(places.units, access.when, loaded=True)
            access.stamped = True
        self._reads, self._read_lanes = [], 0
        return readers

    def tell_readers(self) -> None:
        """Has the shadow know who read here, for a launch that may run at the same time."""
        if self._reads or self._readers is not None:
            readers = self._stamp_reads()
            at = np.flatnonzero(readers)
            self._told[at] = np.where(readers[at] == SEVERAL, self._first, readers[at])

    def write(self, places: Places, values: np.ndarray, lanes: Lanes, numbers: np.ndarray) -> Accessed:
        """The programs ``numbers`` store ``values`` (words), each in its lanes."""
        if self.atomics:
            raise Fallback("an atomic and a plain access to one storage")
        owners, stamps = lanes.owners(numbers), lanes.owners(numbers * 4 + 1)
        if not self._behind_reads(places, owners):
            raise Fallback("a program stores what another read")
        if not self._behind_stores(places, owners):
            raise Fallback("two programs store one element")
        self._written = True
        self._keep(places)
        places.put(self.writer, stamps)
        places.put(self.words, values)
        if not places.run and ((places.take(self.writer) != stamps).any() or (places.take(self.words) != values).any()):
            raise Fallback("two lanes store one element")
        self._date(places.units, self._releases.time, loaded=False)
        return Accessed(places, owners, self._releases.time, loaded=False, stamped=True)

    def update(
        self,
        kind: str,
        places: Places,
        values: np.ndarray,
        owners: np.ndarray,
        operation: np.ufunc,
        pattern: np.ndarray | None,
    ) -> None:
        """Has an atomic operation done at the end of the launch: nothing else reads or stores there meanwhile.

        kind: operations of one kind may change places. owners: the program of each lane.
        """
        if self._loaded or self._written:
            raise Fallback("an atomic and a plain access to one storage")
        at, low, high = places.at.ravel(), places.low, places.high
        first, last = self.atomics.get(kind, (low, high))
        self.atomics[kind] = low, high = min(first, low), max(last, high)
        if any(other != kind and first <= high and low <= last for other, (first, last) in self.atomics.items()):
            raise Fallback("atomics of several kinds on one element: an order of the programs")
        self._keep(places)
        self._unwritten(places, places.take(self.words), pattern)
        self.writer[at] = 4 * self._first + 3
        self._due.append(_Due(operation, at, values, owners))
        self._lanes += at.size
        self._ordered |= operation is np.add and values.dtype.kind == "f"

    def exchange(
        self, places: Places, owners: np.ndarray, exchange: Exchange, pattern: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Does an atomic at once, one program after the other; returns what each lane found and left.

        places, owners: of lanes in one row.
        """
        if self._ordered:
            raise Fallback("sums of floats that wait for their order, and an atomic whose result is used")
        if not exchange.alone:
            self._blocks_in_order(places.at)
        self.settle(None)
        if not self._behind_stores(places, owners, plain=True) or not self._behind_reads(places, owners):
            raise Fallback("an atomic on what another program stored or read")
        self._keep(places)
        self._unwritten(places, places.take(self.words), pattern)
        before = places.take(self.writer)
        words = self.words.view(exchange.operands[0].dtype)
        old, new = one_after_another(words, places.at, exchange.ranks, exchange.change, exchange.operands)
        self._stamp_exchange(places, owners, exchange)
        if exchange.alone:
            waits = old.view(self.words.dtype) == new.view(self.words.dtype)
            waits |= exchange.change is not np.add  # what was awaited may be taken away at once
            self._awaits_nobody(before[waits], owners[waits], exchange.ranks[waits], exchange.rank_of)
        self.exchanged = True
        if not exchange.alone:
            self.atomics["at once"] = 0, self.words.size  # no plain access, and no other kind
        return old, new

    def _blocks_in_order(self, at: np.ndarray) -> None:
        """Gives up where a block of elements meets an atomic of this pass: a program would do both before the next."""
        if self._loaded or self._written:
            raise Fallback("an atomic and a plain access to one storage")
        earlier = [*self._exchanged_at, *(due.at for due in self._due[self._begun :])]
        if any(np.isin(at, known).any() for known in earlier):
            raise Fallback("several atomics on one element, the result of one of which is used")
        self._exchanged_at.append(at)

    def _stamp_exchange(self, places: Places, owners: np.ndarray, exchange: Exchange) -> None:
        """Notes who has done an atomic last, and when; several programs where they are in no order."""
        at, order = places.at, np.argsort(exchange.ranks, kind="stable")
        when: int | np.ndarray = self._releases.time
        if exchange.alone and (exchange.acquires or exchange.releases):
            addresses = self.address + at[order].astype(np.int64) * self.unit
            deeds = zip(owners[order].tolist(), addresses.tolist(), strict=True)
            times = [self._releases.note(*deed, exchange.acquires, exchange.releases) for deed in deeds]
            when = np.array(times) - exchange.releases  # its release publishes itself
        chained = exchange.alone and exchange.acquires and exchange.releases
        last = owners[order]
        if not self._behind_stores(places, owners) or not (chained or np.unique(at).size == at.size):
            last = np.full(at.size, self._first)
        self.writer[at[order]] = last * 4 + 3
        self._date(at[order], when, loaded=False)

    def _awaits_nobody(
        self, before: np.ndarray, owners: np.ndarray, ranks: np.ndarray, rank_of: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        """Gives up where atomics find what a later program has left: they may wait for that."""
        others = (before >= 4 * self._first) & (before >> 2 != owners)
        numbers = (before[others] >> 2) - self._first - 1
        if (numbers < 0).any() or (rank_of(numbers) > ranks[others]).any():
            raise Fallback("an atomic that may wait for a later program")

    def relieve(self, ranks: np.ndarray | None) -> None:
        """Does what is due if that takes much memory, unless its order matters: then the launch gives up."""
        if self._ordered and self._lanes > _MOST_SUMS:
            raise Fallback("more sums of floats than can wait for their order")
        if not self._ordered and self._lanes > _MOST_DUE:
            self.settle(ranks)

    def settle(self, ranks: np.ndarray | None) -> None:
        """Does the atomics that are due, program by program in the launch's order: a sum of floats depends on it.

        ranks: as `Memory` has them.
        """
        groups: dict[tuple[np.ufunc, np.dtype[Any]], list[_Due]] = {}
        for due in self._due:
            groups.setdefault((due.operation, due.values.dtype), []).append(due)
        for (operation, dtype), alike in groups.items():
            at, values, owners = (np.concatenate([due[part] for due in alike]) for part in (1, 2, 3))
            numbers = owners - self._first - 1
            order = np.argsort(numbers if ranks is None else ranks[numbers], kind="stable")
            operation.at(self.words.view(dtype), at[order], values[order])
        self.final = self.final or len(self._due) > self._begun
        self._due, self._lanes, self._begun = [], 0, 0
