"""Finds autotuned kernels whose result depends on what configurations tried before have left in their tensors.

A GPU runs each configuration many times on the same tensors, to time it, and then the chosen one for its result. Hooks
have to restore what the kernel reads. Where a configuration reads what it stores, it runs twice here, with its hooks:
the second result has to be the first.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..emulator import Emulator, Finding
from ..emulator.access import Access
from ..emulator.findings import Place, here
from ..emulator.kept import BLOCK
from ..emulator.memory import Region
from ..emulator.order import Order
from ..emulator.shadow import Clash, Shadow
from .rerun import Again, Call, change, differing, element

_PROGRAMS = 64  # that are looked through for the line of an access by several


class _Launch(NamedTuple):
    """A launch, and its stores by storage and block: the program of each byte, 0 where there is none, and the bytes."""

    call: Call
    access: Access
    stores: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]


class LeftState:
    """Runs the configurations of autotuned kernels under ``emulator``, and calls ``say`` with findings."""

    def __init__(self, emulator: Emulator, say: Callable[[Finding], None]):
        self._emulator, self._say = emulator, say
        self._wanted = False  # whether launches are to be noted
        self._launches: list[_Launch] = []

    def run(self, call: Callable[[], Any], twice: bool) -> bool:
        """Runs a configuration with its hooks; a second time if ``twice`` and it reads what it stores. Returns whether
        it did.
        """
        first = self._noted(call, twice)
        if not first:
            return False
        second = self._noted(call, True)
        for old, new in zip(first, second, strict=False):
            self._compare(old, new)
        return True

    def launched(self, call: Call, access: Access | None) -> None:
        """Takes note of a launch, if it belongs to a configuration and reads what it stores."""
        if not self._wanted or access is None:
            return
        stored = {address for address, kept in access.kept.items() if kept.blocks}
        if any(region.loaded and region.address in stored for region in access.space.regions):
            stores = {
                (address, number): (self._programs(address, number, access), kept.now(number).copy())
                for address, kept in access.kept.items()
                for number in kept.blocks
            }
            self._launches.append(_Launch(call, access, stores))

    def _noted(self, call: Callable[[], Any], wanted: bool) -> list[_Launch]:
        self._wanted, self._launches = wanted, []
        try:
            call()
            return self._launches
        finally:
            self._wanted, self._launches = False, []

    def _programs(self, address: int, number: int, access: Access) -> np.ndarray:
        shadow: Shadow = self._emulator._shadows[address]
        size = access.kept[address].now(number).size // shadow.unit
        stamps = shadow.writer.take(np.arange(size) + number * BLOCK // shadow.unit)
        return np.repeat(np.where(stamps >= 4 * access.first, stamps >> 2, 0), shadow.unit)

    def _compare(self, old: _Launch, new: _Launch) -> None:
        for key in sorted(old.stores.keys() & new.stores.keys()):
            (before, was), (after, now) = old.stores[key], new.stores[key]
            differs = differing(new.access, *key, was[: before.size], now[: after.size]) & (before != 0) & (after != 0)
            if differs.any():
                byte = int(differs.argmax())
                changed = np.where(differs, now[: after.size], was[: before.size])
                effect = change(new.access, *key, was[: before.size], changed)
                self._say(self._finding(new, key[0], key[1] * BLOCK + byte, int(after[byte]), effect))
                return

    def _finding(self, launch: _Launch, address: int, byte: int, number: int, effect: str) -> Finding:
        access, kernel = launch.access, launch.access.kernel
        region, offset = element(access, address, byte) or (None, None)
        programs = np.array([number - access.first - 1])
        if number <= access.first:  # several: who comes first can be any of them
            programs = np.arange(min(_PROGRAMS, int(np.prod(access.grid))))
        traced = _Traced(programs, address, byte)
        with traced.ran(self._emulator, launch.call):
            place, program = traced.place, traced.program
        name = region.name if region else ""
        text = (
            f"`{kernel}`, {place}, reads what an earlier run has left in its tensors: run twice in one configuration, "
            f"with its hooks, {effect}. An autotuner runs every configuration many times on the same tensors before it "
            f'takes the result. Restore what the kernel reads, as with `reset_to_zero=["{name}"]` where it adds to '
            "zeros, `restore_value=` where it works in place, or a `pre_hook` of every configuration."
        )
        return Finding(
            "left-state",
            text,
            kernel,
            name,
            offset,
            access.grid_index(access.first + 1 + program),
            place.line,
            place.source,
            place.file,
        )


class _Traced(Again):
    """Notes which program reads a byte first, and where; an atomic reads as well. Where none does, who stores it."""

    together = False

    def __init__(self, programs: np.ndarray, address: int, byte: int):
        super().__init__(0.0, programs)
        self._address, self._byte = address, byte
        self._program, self._seen = int(programs[0]), list[tuple[bool, Place, int]]()

    @property
    def place(self) -> Place:
        """The line."""
        return self._first[1]

    @property
    def program(self) -> int:
        """The program, by number."""
        return self._first[2]

    @property
    def _first(self) -> tuple[bool, Place, int]:
        return min(self._seen, key=lambda one: not one[0], default=(False, Place(), self._program))

    def shadow(self, region: Region) -> Shadow:
        if region.address != self._address:
            return super().shadow(region)
        known = self._shadows.get(region.address)
        if not isinstance(known, _Watching) or known.unit > region.itemsize:
            self._shadows[region.address] = _Watching(region, self._byte, self._touched)
        return self._shadows[region.address]

    def _touched(self, reads: bool, number: int) -> None:
        self._seen.append((reads, here(), number - self.access.first - 1))


class _Watching(Shadow):
    """Calls ``note`` at each access to the unit of a byte: whether it reads, and the program's number."""

    def __init__(self, region: Region, byte: int, note: Callable[[bool, int], None]):
        super().__init__(region.address, region.held, region.itemsize)
        self._watched, self._note = byte // region.itemsize, note

    def read(self, at: np.ndarray, program: int, first: int, order: Order) -> Clash | None:
        if (at == self._watched).any():
            self._note(True, program)
        return super().read(at, program, first, order)

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
        if (at == self._watched).any():
            self._note(atomic or reads, program)
        return super().store(at, changed, program, first, order, atomic, reads)
