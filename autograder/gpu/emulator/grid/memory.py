"""Loads, stores and atomics of the programs of a pass, checked so that "nothing to report" is certain."""

from collections.abc import Callable, Set

import numpy as np

from ..access import Access
from ..address_space import Region
from ..shadow import Shadow
from ..touched import KEPT
from .earlier_access import Earlier
from .fallback import Fallback, Traced
from .lanes import Lanes
from .places import Places
from .pointers import Pointer
from .programs import Programs
from .storage import SEVERAL, Storage


class Memory:
    """The memory of one launch. ``programs`` is set for each pass in turn.

    ranks: where in the launch's order each program comes, or None where they come by number. remembered: of `Storage`.
    traced: kernels and tensors of which loads are remembered, since the kernel stores to them as well.
    """

    def __init__(
        self,
        access: Access,
        shadow: Callable[[Region], Shadow],
        pattern: Callable[[Region], np.ndarray | None],
        undefined: Callable[[str, Region, np.ndarray], None],
        ranks: np.ndarray | None,
        remembered: int,
        traced: Set[tuple[str, str]],
    ):
        self.access, self._shadow, self._pattern, self._undefined = access, shadow, pattern, undefined
        self._ranks, self._remembered, self._traced = ranks, remembered, traced
        self._storages: dict[int, Storage] = {}
        self._traffic: dict[int, tuple[Region, dict[str, int]]] = {}

    # passes

    def begin(self, programs: Programs) -> None:
        """Begins a pass of these programs."""
        self._all = programs
        self.switch(programs)
        self._stored = False
        for storage in self._storages.values():
            storage.begin()
        self._stores: list[Earlier] = []  # since the last barrier
        self._loads: dict[int, list[Earlier]] = {}  # of the tensors that are traced, by address
        self._untraced: dict[int, set[str]] = {}  # names of the others that were loaded, by address
        self._moved: list[tuple[Region, str, int | np.ndarray]] = []  # bytes of each program, or by row

    def switch(self, programs: Programs) -> None:
        """Goes on with some of the pass's programs, or with all."""
        self.programs = programs
        self._numbers = (programs.numbers + self.access.first + 1).astype(np.int32)

    def end(self) -> None:
        """Ends a pass and counts the bytes that its programs moved."""
        live = self._all.live
        for region, way, nbytes in self._moved:
            total = int(nbytes[live].sum()) if isinstance(nbytes, np.ndarray) else nbytes * live.size
            self._traffic.setdefault(id(region), (region, {"loaded": 0, "stored": 0}))[1][way] += total

    def restart(self) -> None:
        """Takes back what all programs of this pass stored."""
        self.switch(self._all)
        self.put_off(np.arange(len(self._numbers)))

    def put_off(self, rows: np.ndarray) -> None:
        """Takes back what some programs (by row) of this pass stored: they will begin anew."""
        if any(storage.final for storage in self._storages.values()):
            raise Fallback("programs part after so many atomics that some are done")
        if self._stored:
            for storage in self._storages.values():
                storage.put_back_of(self._numbers[rows])

    def undo(self) -> None:
        """Takes back all that the launch stored."""
        for storage in self._storages.values():
            storage.put_back()
        self.access.kept.clear()

    def settle(self) -> None:
        """Does the atomics that are due."""
        for storage in self._storages.values():
            storage.settle(self._ranks)

    def finish(self) -> None:
        """Ends the launch and adds its bytes to those of its regions."""
        if self.access.tells_readers:
            for storage in self._storages.values():
                storage.tell_readers()
        for region, total in self._traffic.values():
            region.loaded += total["loaded"]
            region.stored += total["stored"]

    # effects

    def ranks(self, rows: np.ndarray) -> np.ndarray:
        """Where in the launch's order the programs of these rows come."""
        numbers: np.ndarray = self.programs.numbers[rows]
        return numbers if self._ranks is None else self._ranks[numbers]

    def storage(self, region: Region) -> Storage:
        """The storage of a region."""
        address = region.address
        if address not in self._storages:
            kept = self.access.kept_of(region)
            self._storages[address] = Storage(self._shadow(region), kept, self.access.first, self._remembered)
        return self._storages[address]

    def stored(self) -> "list[tuple[int, slice | np.ndarray, np.ndarray]]":
        """Returns what the launch stored: the place of a region with this storage among all, units, and their words."""
        found = []
        for place, region in enumerate(self.access.space.regions):
            storage = self._storages.get(region.address)
            words = storage.stored() if storage and storage.unit == region.itemsize else None
            if words:
                found.append((place, *words))
        return found

    @property
    def atomics(self) -> bool:
        """Returns whether the launch has done atomics."""
        return any(storage.atomics for storage in self._storages.values())

    def barrier(self) -> None:
        """Has the threads of every program wait for each other."""
        waited = self._rows()
        self._stores = _of_others(self._stores, waited)
        self.exchanged()

    def exchanged(self) -> None:
        """Notes that the threads of every program have exchanged what they had loaded."""
        if self._loads:
            rows = self._rows()
            self._loads = {address: _of_others(loads, rows) for address, loads in self._loads.items()}
        if self.programs.live.size == len(self._all.numbers):
            self._untraced.clear()

    def _rows(self) -> np.ndarray:
        """The rows of the pass that go on."""
        rows: np.ndarray = self.programs.rows[self.programs.live]
        return rows

    # accesses

    def load(
        self, pointer: Pointer, mask: np.ndarray | None, other: np.ndarray | None, filler: np.ndarray
    ) -> np.ndarray:
        """Loads ``(rows, *block)``. filler: one element for masked-off lanes that have no ``other``."""
        region, sound = pointer.region, self.programs.sound
        lanes = Lanes(sound(pointer.offsets), sound(mask))
        values = self._load(region, lanes).view(filler.dtype) if lanes.at.size else None
        if lanes.at.size:
            self._loaded(region, pointer.offsets, mask, lanes)
        if lanes.every:
            return values if values is not None else np.empty(lanes.shape, filler.dtype)
        if other is None:
            result = np.full(lanes.shape, filler[0], filler.dtype)
            self._undefined(self.access.kernel, region, self._masked_off(lanes))
        else:
            rows = max(lanes.rows, other.shape[0])
            # C order: a copy that keeps the order of a broadcast array could come out column by column.
            result = np.array(np.broadcast_to(other, (rows, *lanes.block)), dtype=filler.dtype, order="C")
        if values is not None:
            lanes.put(values, result)
        return result

    def _masked_off(self, lanes: Lanes) -> np.ndarray:
        """The programs that go on and have lanes that are off."""
        live = self.programs.live
        off = slice(None) if lanes.on is None else ~lanes.on[live].all(axis=1)
        numbers: np.ndarray = self.programs.numbers[live][off]
        return numbers

    def _loaded(self, region: Region, offsets: np.ndarray, mask: np.ndarray | None, lanes: Lanes) -> None:
        """Gives up where other lanes of a program have stored what it loads; remembers the load where that matters."""
        traced = (self.access.kernel, region.name) in self._traced
        if not traced:
            self._untraced.setdefault(region.address, set()).add(region.name)
        before = [store for store in self._stores if store.region.address == region.address]
        if not traced and not before:
            return
        only = self.programs.only_live
        load = Earlier(region, self._rows(), only(offsets), only(mask))
        if any(store.meets(load) for store in before):
            raise Fallback("a program that loads what it stored, by other lanes")
        if traced:
            loads = self._loads.setdefault(region.address, [])
            loads.append(load)
            del loads[:-KEPT]

    def _load(self, region: Region, lanes: Lanes) -> np.ndarray:
        storage, places = self._place("load", region, lanes)
        values = storage.read(places, self._readers(lanes), self._pattern(region))
        self._count(region, "loaded", lanes.distinct())
        return values

    def _readers(self, lanes: Lanes) -> np.ndarray | int:
        numbers = self.programs.sound(self._numbers)  # a row that repeats another's offsets reads for it
        if lanes.rows > 1:
            return lanes.owners(numbers)
        return SEVERAL if self.programs.live.size > 1 else int(numbers[self.programs.live[0]])

    def store(self, pointer: Pointer, values: np.ndarray, mask: np.ndarray | None) -> None:
        """Stores ``(rows, *block)``, or what broadcasts to it."""
        region, offsets = pointer.region, pointer.offsets
        if names := self._untraced.get(region.address):
            self._traced |= {(self.access.kernel, name) for name in names}
            raise Traced
        if offsets.shape[0] == 1 and self.programs.live.size > 1:
            if mask is None or mask.shape[0] == 1:
                raise Fallback("several programs store to one place")
            offsets = np.broadcast_to(offsets, (mask.shape[0], *offsets.shape[1:]))
        only = self.programs.only_live
        lanes = Lanes(only(offsets), only(mask))
        if not lanes.at.size:
            return
        storage, places = self._place("store", region, lanes)
        values = np.ascontiguousarray(lanes.pick(only(values)))
        storage.write(places, values.view(storage.words.dtype), lanes, only(self._numbers))
        self._count(region, "stored", lanes.counts())  # no element twice, or the storage would have said so
        self._stored = True
        store = Earlier(region, self._rows(), only(pointer.offsets), only(mask))
        if any(load.meets(store) for load in self._loads.get(region.address, ())):
            raise Fallback("a program that stores what it loaded, by other lanes")
        self._stores.append(store)

    def atomic(self, pointer: Pointer, values: np.ndarray, mask: np.ndarray, kind: str, operation: np.ufunc) -> None:
        """Does an atomic whose result is not used; ``kind`` as in `Storage.update`."""
        region = pointer.region
        shape = len(self._numbers), *pointer.offsets.shape[1:]
        offsets, mask, values = (
            self.programs.only_live(np.broadcast_to(a, shape)) for a in (pointer.offsets, mask, values)
        )
        lanes = Lanes(offsets, mask)
        if not lanes.at.size:
            return
        storage, places = self._place("atomic", region, lanes)
        owners = lanes.owners(self.programs.only_live(self._numbers))
        storage.update(kind, places, lanes.pick(values).ravel(), owners.ravel(), operation, self._pattern(region))
        self._stored = True
        storage.relieve(self._ranks)
        for way in ("loaded", "stored"):
            self._count(region, way, lanes.counts())

    # checks

    def _place(self, verb: str, region: Region, lanes: Lanes) -> tuple[Storage, Places]:
        """The storage of a region, and the lanes' places in it."""
        places, layout = lanes.places, region.layout
        inside = places.low >= 0 and places.high < layout.span
        if not inside or not (layout.dense or layout.holds(lanes.at.astype(np.int64)).all()):
            raise Fallback(f"a {verb} outside {region.name}")
        storage = self.storage(region)
        if region.itemsize != storage.unit:
            raise Fallback("elements of several sizes in one storage")
        return storage, places.moved((region.real - storage.address) // storage.unit)

    def _count(self, region: Region, way: str, counts: int | np.ndarray) -> None:
        """Bytes by program, so that those of programs that begin anew do not count twice."""
        live, every = self.programs.live, len(self._all.numbers)
        if isinstance(counts, np.ndarray) or live.size < every:
            if isinstance(counts, np.ndarray) and counts.size == len(self._numbers):
                counts = counts[live]
            rows = np.zeros(every, dtype=np.int64)
            rows[self._rows()] = counts
            counts = rows
        self._moved.append((region, way, counts * region.itemsize))


def _of_others(accesses: list[Earlier], rows: np.ndarray) -> list[Earlier]:
    """Accesses without those of these rows."""
    return [left for left in (access.without(rows) for access in accesses) if left]
