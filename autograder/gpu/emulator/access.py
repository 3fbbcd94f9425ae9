"""Loads, stores and atomics of one launch: checked, remembered and counted before they touch memory."""

import functools
import math
from collections.abc import Callable
from typing import Any, TextIO

import numpy as np

from . import messages
from .address_space import Outside, Region, RegionPart, distinct
from .claims import Claims
from .findings import EmulatorError, FindingKind, Waiting, current_place
from .footprint import ConcurrentLaunch, Footprint, Kept
from .order import Order
from .poison import memory
from .shadow import Clash, Shadow
from .touched import Touched, keep

WARP = 32  # lanes that one warp may have: of a block of more, others have some
OPEN = 64  # loads by other warps that are held against a release: the last ones
PATIENCE = 1 << 14  # times that a program asks for one value, and does nothing else, before the launch ends

# Takes a kind, a tensor's name, what makes it, and the place if it is not the line that is running.
Note = Callable[..., None]


class Access(Footprint):
    """The memory that a running launch may touch. ``program`` is set for each program in turn.

    shadow: gives the shadow of a region's storage. report, hint: take a finding, or a hint. poisoned: gives the pattern
    that a region's storage was filled with, None where it was not. undefined: is called at a load with masked-off lanes
    and no ``other``. unordered: is called with "own-store" where a program loads what other lanes of it have stored,
    and with "own-load" where it stores what others have loaded.
    """

    def __init__(
        self,
        kernel: str,
        grid: tuple[int, int, int],
        first: int,
        shadow: Callable[[Region], Shadow],
        report: Note,
        hint: Note,
        poisoned: Callable[[Region], np.ndarray | None],
        undefined: Callable[[str, Region | None], None],
        unordered: Callable[..., None],
    ):
        super().__init__(kernel, grid, first)
        self._shadow, self._report, self._hint, self._poisoned = shadow, report, hint, poisoned
        self._undefined, self._unordered = undefined, unordered
        self._order, self.claims = Order(), Claims()
        self.keeps = False  # whether ``kept`` is wanted
        self.beside: list[ConcurrentLaunch] = []  # earlier launches that a GPU may run at the same time
        self.tells_readers = False  # whether a later launch may be one that runs at the same time
        self.warps = 4  # of a program
        self.printed: TextIO | None = None  # for what it prints when it compiles; None is the standard output
        self.started = -1
        self.start(0)

    @property
    def far(self) -> bool:
        """Returns whether an element of a tensor is 2^31 elements or more from its first."""
        return self.space.far

    def kept_of(self, region: Region) -> Kept:
        """Returns what a region's storage held before the launch."""
        if region.address not in self.kept:
            self.kept[region.address] = Kept(memory(region.address, region.held))
        return self.kept[region.address]

    def start(self, program: int) -> None:
        """Begin a program, by its number in row-major order of the grid."""
        self.program = self.first + 1 + program
        self.started += 1  # how many programs have begun
        self._order.begin(self.program)
        self.waited = False  # for the launch that this one depends on
        self._stores: dict[int, list[Touched]] = {}  # since a barrier, by address
        self._loads: dict[int, list[Touched]] = {}
        self._updates: dict[int, list[Touched]] = {}  # by atomics
        self._open: dict[bool, list[tuple[Region, np.ndarray]]] = {
            False: [],
            True: [],
        }  # of other warps, since a barrier
        self._asked: tuple[int, bytes] | None = None  # by the last atomic or volatile load: address, and what came
        self._asks = 0  # how often that has been so, with nothing between

    def load(
        self,
        addresses: np.ndarray,
        mask: np.ndarray | None,
        other: np.ndarray | None,
        filler: np.ndarray,
        ordered: bool,
    ) -> np.ndarray:
        """Loads a block; returns values of the shape of ``addresses``. Raises EmulatorError where a lane is outside.

        filler: one element for masked-off lanes that have no ``other``; its dtype is the result's.
        ordered: the load is volatile or atomic, and waits for other programs on purpose.
        """
        dtype, shape = filler.dtype, addresses.shape
        given = mask
        self.ordered |= ordered
        active, mask = _active(addresses, mask)
        if mask is None:
            values = self._gather(active, dtype, ordered, given).reshape(shape)
            self._polled(addresses if ordered else addresses[:0], values)
            return values
        if other is None:
            result = np.full(mask.shape, filler[0], dtype)
            self._undefined(self.kernel, self.space.find(int(addresses.flat[0])))
        else:
            result = np.array(np.broadcast_to(other, shape), dtype=dtype).ravel()
        if active.size:
            result[mask] = self._gather(active, dtype, ordered, given, mask)
        return result.reshape(shape)

    def _gather(
        self,
        addresses: np.ndarray,
        dtype: np.dtype[Any],
        ordered: bool,
        given: np.ndarray | None,
        mask: np.ndarray | None = None,
    ) -> np.ndarray:
        """Loads the lanes that are on. given: the mask of the block; mask: flat, None where every lane is on."""
        parts = self._resolve("load", addresses, dtype.itemsize, given)
        if not ordered:
            numbers = _numbers(addresses, mask)
            for region, offsets, lanes in parts:
                self._loaded(region, offsets, numbers[lanes])
                self._left_open(region, offsets, numbers[lanes], loaded=True)
        if len(parts) == 1:
            return self._gather_region(parts[0][0], parts[0][1], dtype, ordered)
        result = np.empty(addresses.size, dtype)
        for region, offsets, lanes in parts:
            result[lanes] = self._gather_region(region, offsets, dtype, ordered)
        return result

    def _polled(self, addresses: np.ndarray, values: np.ndarray) -> None:
        """Notes that a program asks for a value. Raises EmulatorError where it has done nothing else for long."""
        asked = (int(addresses.flat[0]), values.tobytes()) if addresses.size == 1 else None
        self._asked, self._asks = asked, self._asks + 1 if asked and asked == self._asked else 0
        region = self.space.find(int(addresses.flat[0])) if self._asks == PATIENCE else None
        if region is not None:
            left, program = math.prod(self.grid) - self.started, self.grid_index(self.program)
            value, place = region.show(values.flat[0]), current_place()
            tell = functools.partial(messages.endless, self.kernel, region, value, program=program, place=place)
            at = region.real + int(addresses.flat[0]) - region.virtual
            raise Waiting(tell(left=left), tell(left=0), lambda: memory(at, values.itemsize).tobytes())

    def _loaded(self, region: Region, offsets: np.ndarray, lanes: np.ndarray) -> None:
        """Notes what lanes load, and whether other lanes of the program have stored it, with no barrier between."""
        load = Touched(_in_storage(region, offsets), lanes)
        if _met(self._stores, region, load):
            self._unordered("own-store", region)
        elif _met(self._updates, region, load):
            self._unordered("own-store", region, updated=True)
        keep(self._loads.setdefault(region.address, []), load)

    def _stored(self, region: Region, offsets: np.ndarray, lanes: np.ndarray) -> None:
        """Notes what lanes store, and whether other lanes of the program have loaded it, with no barrier between."""
        store = Touched(_in_storage(region, offsets), lanes)
        if _met(self._loads, region, store):
            self._unordered("own-load", region)
        elif _met(self._updates, region, store):
            self._unordered("own-load", region, updated=True)
        keep(self._stores.setdefault(region.address, []), store)

    def _left_open(self, region: Region, offsets: np.ndarray, lanes: np.ndarray, loaded: bool) -> None:
        """Notes what other warps than the one that may release something load or store."""
        if self.warps > 1 and (others := lanes >= WARP).any():
            self._open[loaded].append((region, offsets[others]))
            if loaded:
                del self._open[loaded][:-OPEN]

    def _release(self, address: int, acquires: bool, releases: bool) -> None:
        """Has one thread of the program acquire or release the word at an address."""
        self._order.synchronise(address, acquires, releases)
        if releases and any(self._open.values()):
            epoch = self._order.hurry()
            for loaded, accesses in self._open.items():
                for region, offsets in accesses:
                    shadow = self._shadow(region)
                    at = shadow.positions(region.real, offsets, region.itemsize)
                    shadow.postpone(at, self.program, epoch, loaded)

    def _updated(self, region: Region, offsets: np.ndarray, lanes: np.ndarray) -> None:
        """Notes what lanes update with an atomic, and whether other lanes of the program have stored or loaded it."""
        update = Touched(_in_storage(region, offsets), lanes)
        if _met(self._stores, region, update):
            self._unordered("own-store", region, updates=True)
        elif _met(self._loads, region, update):
            self._unordered("own-load", region, updates=True)
        keep(self._updates.setdefault(region.address, []), update)

    def _gather_region(self, region: Region, offsets: np.ndarray, dtype: np.dtype[Any], ordered: bool) -> np.ndarray:
        values = region.words(dtype).take(offsets)
        region.loaded += distinct(offsets) * values.itemsize
        shadow = self._shadow(region)
        at = shadow.positions(region.real, offsets, dtype.itemsize)
        clash = None if ordered else shadow.read(at, self.program, self.first, self._order)
        if clash is not None:
            lane = clash.lane * shadow.unit // dtype.itemsize
            self._clash("load", region, int(offsets[lane]), clash, ("", values[lane]))
        self._virgin("load", region, shadow, at, offsets, values)
        self._overlaps("load", region, shadow, at, offsets)
        return values

    def _virgin(
        self, verb: str, region: Region, shadow: Shadow, at: np.ndarray, offsets: np.ndarray, values: np.ndarray
    ) -> None:
        """Hints at elements that still hold the poison `torch.empty` got, when no program has stored them."""
        pattern = self._poisoned(region)
        if pattern is not None and pattern.dtype.itemsize == values.itemsize == shadow.unit:
            virgin = (values.view(pattern.dtype) == pattern[0]) & ~shadow.written(at)
            if virgin.any():
                offset, adds = int(offsets[virgin.argmax()]), verb == "atomic" or region.stored > 0
                self._hint(
                    "uninitialised-read",
                    region.name,
                    lambda place: messages.uninitialised(
                        self.kernel, verb, region, offset, adds, self.grid_index(self.program), place
                    ),
                )

    def end(self) -> None:
        """Reports, of claims about values that were false, the first program, and whether an address was made of it."""
        for number, (claim, tensor, program, place) in self.claims.false.items():
            region, where = self.space.find(claim.value), self.grid_index(program)
            kind: FindingKind = "misleading-hint" if self.claims.misleads(number) else "false-hint"
            make = functools.partial(messages.false_hint, kind, self.kernel, claim, region, where)
            self._report(kind, tensor, make, place)

    def note_division(self, operator: str) -> None:
        """Reports a division of integers by zero. operator: ``//`` or ``%``."""
        program = self.grid_index(self.program)
        self._report("division-by-zero", "", functools.partial(messages.by_zero, self.kernel, operator, program))

    def note_combined(self, name: str, values: tuple[str, str]) -> None:
        """Reports a combining function that is not associative: it gave two ``values``."""
        program = self.grid_index(self.program)
        make = functools.partial(messages.not_associative, self.kernel, name, values, program)
        self._report("not-associative", "", make)

    def barrier(self) -> None:
        """Has the program's threads wait for each other: what one has stored the others can load."""
        for touched in (self._stores, self._loads, self._updates):
            touched.clear()
        self._open = {False: [], True: []}

    def exchanged(self) -> None:
        """Notes that the program's threads have exchanged what they had loaded."""
        self._loads.clear()
        self._open = {False: [], True: []}  # threads that exchange something have waited for each other

    def store(self, addresses: np.ndarray, values: np.ndarray, mask: np.ndarray | None) -> None:
        """Stores a block. Raises EmulatorError where a lane is outside its tensor."""
        given, self._asked = mask, None
        active, mask = _active(addresses, mask)
        if not active.size:
            return
        values = np.broadcast_to(values, addresses.shape).ravel()
        if mask is not None:
            values = values[mask]
        numbers = _numbers(active, mask)
        for region, offsets, lanes in self._resolve("store", active, values.itemsize, given):
            self._scatter(region, offsets, values if lanes is ... else values[lanes])
            self._stored(region, offsets, numbers[lanes])
            self._left_open(region, offsets, numbers[lanes], loaded=False)

    def _scatter(self, region: Region, offsets: np.ndarray, values: np.ndarray) -> None:
        words = region.words(values.dtype)
        self._keep(region, offsets, values.itemsize)
        before = words.take(offsets)
        words[offsets] = values
        region.stored += distinct(offsets) * values.itemsize
        self._remember("store", region, offsets, before, values)
        after = words.take(offsets)
        differ = _differ(after, values)
        if differ.any():
            lane = int(differ.argmax())
            self._report(
                "store-conflict",
                region.name,
                lambda place: messages.lanes_differ(
                    self.kernel,
                    region,
                    int(offsets[lane]),
                    (values[lane], after[lane]),
                    self.grid_index(self.program),
                    place,
                ),
            )

    def _keep(self, region: Region, offsets: np.ndarray, itemsize: int) -> None:
        if self.keeps:
            start = region.real - region.address
            low, high = int(offsets.min()) * itemsize, (int(offsets.max()) + 1) * itemsize - 1
            self.kept_of(region).keep(start + low, start + high, lambda: start + offsets * itemsize)

    def atomic(
        self,
        addresses: np.ndarray,
        mask: np.ndarray | None,
        itemsize: int,
        semantics: tuple[bool, bool],
        perform: Callable[[np.ndarray, np.ndarray], np.ndarray],
        between: bool,
        used: bool,
    ) -> np.ndarray:
        """Does an atomic on a block: ``perform(real addresses, mask)`` does it and returns the old values.

        semantics: whether it acquires, as taking a lock does, and whether it releases. between: it is atomic between
        programs, too, which one of scope "cta" is not. used: whether the old values are.
        """
        shape, given = addresses.shape, mask
        active, mask = _active(addresses, mask)
        word = np.dtype(f"u{itemsize}")
        real = np.zeros(addresses.size, dtype=np.uint64)
        lanes_on = np.arange(addresses.size) if mask is None else np.flatnonzero(mask)
        parts = self._resolve("atomic", active, itemsize, given) if active.size else []
        for region, offsets, lanes in parts:
            real[lanes_on[lanes]] = np.uint64(region.real) + (offsets * itemsize).view(np.uint64)
        on = np.ones(addresses.size, dtype=bool) if mask is None else mask
        for region, offsets, lanes in parts:
            self._keep(region, offsets, itemsize)
            if addresses.size > 1:
                self._updated(region, offsets, lanes_on[lanes])
        before = [region.words(word).take(offsets) for region, offsets, _ in parts]
        result = perform(real.reshape(shape), on.reshape(shape))
        for (region, offsets, _), old in zip(parts, before, strict=True):
            region.loaded += old.nbytes
            region.stored += old.nbytes
            new = region.words(word).take(offsets)
            self._remember("atomic", region, offsets, old, new, between)
            self._polled(addresses if not _differ(old, new).any() else addresses[:0], old)
        if any(semantics) and active.size == 1 and between:
            self._release(int(real[lanes_on[0]]), *semantics)
        if addresses.size == 1 and used:  # its result goes to all threads of the program
            self.barrier()
        return result

    def acquire(self, addresses: np.ndarray, itemsize: int) -> None:
        """Has the program come after those that released these words before."""
        for region, offsets, _ in self._resolve("atomic", addresses, itemsize, None) if addresses.size else ():
            for offset in offsets.tolist():
                self._order.synchronise(region.real + offset * itemsize, acquires=True, releases=False)

    def _resolve(self, verb: str, addresses: np.ndarray, itemsize: int, mask: np.ndarray | None) -> list[RegionPart]:
        """The lanes that are on, by region. mask: of the whole block. Raises EmulatorError where one is outside."""
        parts = self.space.resolve(addresses, itemsize)
        if isinstance(parts, Outside):
            program = self.grid_index(self.program)
            raise EmulatorError(
                messages.out_of_bounds(self.kernel, verb, parts, mask, program, self.grid, current_place())
            )
        return parts

    def _remember(
        self,
        verb: str,
        region: Region,
        offsets: np.ndarray,
        before: np.ndarray,
        after: np.ndarray,
        atomic: bool = False,
    ) -> None:
        shadow = self._shadow(region)
        at = shadow.positions(region.real, offsets, after.itemsize)
        changed = _differ(before, after)
        if verb == "atomic":
            self._virgin(verb, region, shadow, at, offsets, before)
        if after.itemsize != shadow.unit:
            changed = np.repeat(changed, after.itemsize // shadow.unit)
        self._overlaps(verb, region, shadow, at, offsets)
        reads = verb == "atomic" and not atomic  # one of scope "cta"
        clash = shadow.store(at, changed, self.program, self.first, self._order, atomic, reads)
        if clash is not None:
            lane = clash.lane * shadow.unit // after.itemsize
            self._clash(verb, region, int(offsets[lane]), clash, (before[lane], after[lane]))

    def _overlaps(self, verb: str, region: Region, shadow: Shadow, at: np.ndarray, offsets: np.ndarray) -> None:
        """Reports an element at which an earlier launch is met that nothing orders before this one."""
        for one in self.beside:
            if one.dependent and self.waited:
                continue
            met = shadow.met(at, one, stores=verb != "load", atomic=verb == "atomic")
            if met.any():
                offset = int(offsets[int(met.argmax()) * offsets.size // at.size])
                program = self.grid_index(self.program)
                make = functools.partial(messages.beside, self.kernel, verb, region, offset, one, program)
                self._report("unordered-launches", region.name, make)

    def _clash(self, verb: str, region: Region, offset: int, clash: Clash, values: tuple[object, object]) -> None:
        programs = self.grid_index(self.program), self.index(clash.other)
        shown = region.show(values[0]), region.show(values[1])
        same = [other.label for other in self.space.sharing(region, offset)]
        tell = self._hint if clash.kind == "equal" else self._report
        tell(
            clash.kind,
            region.name,
            lambda place: messages.conflict(self.kernel, verb, region, offset, clash, programs, shown, same, place),
        )


def _met(earlier: dict[int, list[Touched]], region: Region, now: Touched) -> bool:
    """Returns whether other lanes have touched an element of a region before."""
    return any(one.meets(now.at, now.by) for one in earlier.get(region.address, ()))


def _active(addresses: np.ndarray, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Addresses of the lanes that are on, and the flat mask; None where every lane is on."""
    flat = addresses.ravel()
    if mask is None:
        return flat, None
    mask = np.broadcast_to(np.asarray(mask, dtype=bool), addresses.shape).ravel()
    return (flat, None) if mask.all() else (flat[mask], mask)


def _numbers(addresses: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    """The numbers of the lanes that are on."""
    return np.arange(addresses.size) if mask is None else np.flatnonzero(mask)


def _in_storage(region: Region, offsets: np.ndarray) -> np.ndarray:
    """Offsets counted from the beginning of the region's storage."""
    first = (region.real - region.address) // region.itemsize
    return offsets + first if first else offsets


def _differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    word = f"u{a.itemsize}"
    differ: np.ndarray = a.view(word) != b.view(word)
    return differ
