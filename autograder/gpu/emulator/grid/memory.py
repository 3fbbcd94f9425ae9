"""Loads, stores and atomics of the programs of a pass, checked so that "nothing to report" is certain."""

from collections.abc import Callable, Set

import numpy as np

from ..access import OPEN, WARP, Access
from ..address_space import Region
from ..shadow import Shadow
from .earlier_access import Earlier
from .fallback import Fallback, InOrder, Traced
from .lanes import Lanes
from .places import Places
from .pointers import Pointer
from .programs import Programs
from .releases import Releases
from .storage import SEVERAL, Accessed, Exchange, Storage
from .turns import WordChange

_MOST_POLLS = 64  # atomics that change nothing, in one launch
_MOST_LOADS = 64  # from one storage since a barrier, where the kernel stores to it as well


class Memory:
    """The memory of one launch. ``programs`` is set for each pass in turn.

    ranks: where in the launch's order each program comes, or None where they come by number. remembered: of `Storage`.
    traced: kernels and tensors of which loads are remembered, since the kernel stores to them as well.
    in_order: whether atomics are done at once, so that passes have the programs in the launch's order.
    halved: whether at least two passes have them.
    """

    in_order = halved = False

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
        self._begin_launch()

    def _begin_launch(self) -> None:
        self._storages: dict[int, Storage] = {}
        self._traffic: dict[int, tuple[Region, dict[str, int]]] = {}
        self._releases = Releases(self._ranks, self.access.first + 1)
        self._polls = 0
        self._latest = -1  # of the programs that have done an atomic at once
        self._tickets: dict[int, np.ndarray] = {}  # by storage: its places and who took a number there, as one number

    # passes

    def by_number(self, numbers: np.ndarray) -> np.ndarray:
        """Programs that run together, as the arrays have them."""
        return numbers if self._ranks is None else np.sort(numbers)

    def begin(self, programs: Programs) -> None:
        """Begins a pass of these programs."""
        self._all = programs
        self.switch(programs)
        self._stored = self._exchanged = False
        self._latest_before = self._latest
        self._open: dict[bool, list[tuple[np.ndarray, Storage, Accessed]]] = {False: [], True: []}  # since a barrier
        self._forgotten = np.zeros(len(programs.numbers), bool)  # by row: fewer than `OPEN` of its loads are in there
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
        if self._exchanged:
            raise Fallback("programs part after an atomic whose result is used")
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
        self._begin_launch()

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
            shadow, first = self._shadow(region), self.access.first
            self._storages[address] = Storage(shadow, kept, first, self._remembered, self._releases)
        return self._storages[address]

    def stored(self) -> "list[tuple[int, slice | np.ndarray, np.ndarray]]":
        """Returns what the launch stored: the place of a region with this storage among all, units, and their words."""
        written = []
        for place, region in enumerate(self.access.space.regions):
            storage = self._storages.get(region.address)
            words = storage.stored() if storage and storage.unit == region.itemsize else None
            if words:
                written.append((place, *words))
        return written

    @property
    def atomics(self) -> bool:
        """Returns whether the launch has done atomics."""
        return any(storage.atomics or storage.exchanged for storage in self._storages.values())

    def barrier(self) -> None:
        """Has the threads of every program wait for each other."""
        waited = self._rows()
        self._stores = _of_others(self._stores, waited)
        self.exchanged()

    def exchanged(self) -> None:
        """Notes that the threads of every program have exchanged what they had loaded."""
        if any(self._open.values()):
            self._close(self._rows())
        if self._loads:
            rows = self._rows()
            self._loads = {address: _of_others(loads, rows) for address, loads in self._loads.items()}
        if self.programs.live.size == len(self._all.numbers):
            self._untraced.clear()

    def _close(self, waited: np.ndarray) -> None:
        """Forgets what the threads of these rows had done before they came to a barrier."""
        every = waited.size == len(self._all.numbers)
        for loaded, accesses in self._open.items():
            left = [] if every else [access for access in accesses if not _contains(waited, access[0])]
            self._open[loaded] = left
        self._forgotten[waited] = False

    def _left_open(self, storage: Storage, access: Accessed, width: int) -> None:
        """Notes what other warps than the one that may release something load or store."""
        if self.access.warps > 1 and width > WARP:
            accesses = self._open[access.loaded]
            accesses.append((self._rows(), storage, access))
            if access.loaded and len(accesses) > OPEN:
                self._forget(accesses.pop(0)[0], [done for done, *_ in accesses])

    def _forget(self, rows: np.ndarray, later: list[np.ndarray]) -> None:
        """Notes that a load of these rows is forgotten. later: the rows of those that are not."""
        every = len(self._all.numbers)
        if any(done.size < every for done in later):
            kept = np.bincount(np.concatenate(later), minlength=every)
            self._forgotten[rows[kept[rows] < OPEN]] = True

    def _hurry(self) -> None:
        """Has what threads of the programs that go on have done come before nothing, if they have not waited."""
        rows = self._rows()
        if self._forgotten[rows].any():
            raise Fallback("more loads before a release than are kept")
        for done, storage, access in (*self._open[False], *self._open[True]):
            if np.isin(done, rows).any():
                storage.hurry(access)

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
            if len(loads) == _MOST_LOADS:
                raise Fallback("more loads of what is stored to than are kept")
            loads.append(load)

    def _load(self, region: Region, lanes: Lanes) -> np.ndarray:
        storage, places = self._place("load", region, lanes)
        values, access = storage.read(places, self._readers(lanes), self._pattern(region))
        self._left_open(storage, access, lanes.width)
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
        access = storage.write(places, values.view(storage.words.dtype), lanes, only(self._numbers))
        self._left_open(storage, access, lanes.width)
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

    def exchange(
        self,
        pointer: Pointer,
        operands: tuple[np.ndarray, ...],
        mask: np.ndarray,
        change: WordChange,
        orders: tuple[bool, bool],
        used: bool,
    ) -> np.ndarray:
        """Does an atomic at once, the programs one after the other in the launch's order; returns the old values.

        change: makes the new values of the old ones and the operands. orders: whether it acquires, and releases.
        """
        region, live = pointer.region, self.programs.live
        shape = len(self._numbers), *pointer.offsets.shape[1:]
        offsets, mask, *operands_ = (
            self.programs.only_live(np.broadcast_to(a, shape)) for a in (pointer.offsets, mask, *operands)
        )
        ranks, lanes = self._in_turn(live), Lanes(offsets, mask)
        result = np.zeros(shape, operands[0].dtype)
        if lanes.at.size:
            storage, places = self._place("atomic", region, lanes)
            owners, alone = lanes.owners(self._numbers[live]).ravel(), lanes.width == 1
            picked = tuple(np.ascontiguousarray(lanes.pick(a)).ravel() for a in operands_)
            by_lane = np.ascontiguousarray(lanes.owners(ranks)).ravel()
            exchange = Exchange(change, picked, by_lane, self._rank_of, alone, *orders)
            old, new = storage.exchange(places.in_one_row(), owners, exchange, self._pattern(region))
            self._stored = True
            if used and change is np.add and not self.halved:
                self._took(storage, places.at.ravel().astype(np.int64), owners)
            if alone and orders[1]:
                self._hurry()
            self._polled(old, new)
            values = np.zeros((live.size, *shape[1:]), old.dtype)
            if lanes.every:
                values[...] = old.reshape(values.shape)
            else:
                lanes.put(old if lanes.flat is not None else old.reshape(lanes.rows, -1), values)
            result[live] = values
            for way in ("loaded", "stored"):
                self._count(region, way, lanes.counts())
        if lanes.width == 1 and used:  # its result goes to all threads of a program
            self.barrier()
        return result

    def _took(self, storage: Storage, at: np.ndarray, owners: np.ndarray) -> None:
        """Has a launch in another order begin anew, in two passes, where a program takes a second number of a counter:
        in one pass the two are as far apart as there are programs, which a GPU does not promise.
        """
        if self._ranks is None or self._ranks.size == 1:
            return
        programs, earlier = self.access.first + self._ranks.size + 1, self._tickets.get(storage.address)
        tickets = at * programs + owners
        if earlier is not None and np.isin(tickets, earlier).any():
            self.halved = True
            raise InOrder
        self._tickets[storage.address] = tickets if earlier is None else np.concatenate([earlier, tickets])

    def _in_turn(self, live: np.ndarray) -> np.ndarray:
        """The ranks of programs that do an atomic at once; the launch begins anew if passes are not in its order."""
        if not self.in_order:
            self.in_order = True
            if self._ranks is not None and len(self._all.numbers) < self._ranks.size:
                raise InOrder
        ranks = self.ranks(live)
        if ranks.min() <= self._latest_before:
            raise Fallback("programs that part and come to an atomic out of order")
        self._latest, self._exchanged = max(self._latest, int(ranks.max())), True
        return ranks

    def _rank_of(self, numbers: np.ndarray) -> np.ndarray:
        return numbers if self._ranks is None else self._ranks[numbers]

    def _polled(self, old: np.ndarray, new: np.ndarray) -> None:
        """Gives up where programs may wait for others, which do not go on meanwhile."""
        self._polls += bool((old == new).any())
        if self._polls > _MOST_POLLS:
            raise Fallback("programs that wait for each other")

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


def _contains(rows: np.ndarray, some: np.ndarray) -> bool:
    return np.array_equal(rows, some) or bool(np.isin(some, rows).all())


def _of_others(accesses: list[Earlier], rows: np.ndarray) -> list[Earlier]:
    """Accesses without those of these rows."""
    return [left for left in (access.without(rows) for access in accesses) if left]
