"""Finds autotuned kernels whose result depends on what configurations tried before have left in their tensors.

A GPU runs each configuration many times on the same tensors, to time it, and then the chosen one for its result. Hooks
have to restore what the kernel reads. Where a configuration reads what it stores, it runs twice here, with its hooks:
the second result has to be the first.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..emulator.findings import Finding, Place
from ..emulator.footprint import BLOCK
from ..emulator.observer import Byte, EndedLaunch, Touch
from .differences import change, differing, element

_PROGRAMS = 64  # that are looked through for the line of an access by several


class _Launch(NamedTuple):
    """A launch, and its stores by storage and block: the program of each byte, 0 where there is none, and the bytes."""

    ended: EndedLaunch
    stores: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]


class LeftState:
    """Runs the configurations of autotuned kernels, and calls ``say`` with findings."""

    def __init__(self, say: Callable[[Finding], None]):
        self._say = say
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

    def launched(self, ended: EndedLaunch) -> None:
        """Takes note of a launch, if it belongs to a configuration and reads what it stores."""
        if not self._wanted:
            return
        footprint = ended.footprint
        stored = {address for address, kept in footprint.kept.items() if kept.blocks}
        if any(region.loaded and region.address in stored for region in footprint.space.regions):
            stores = {
                (address, number): (ended.storers(address, number), kept.now(number).copy())
                for address, kept in footprint.kept.items()
                for number in kept.blocks
            }
            self._launches.append(_Launch(ended, stores))

    def _noted(self, call: Callable[[], Any], wanted: bool) -> list[_Launch]:
        self._wanted, self._launches = wanted, []
        try:
            call()
            return self._launches
        finally:
            self._wanted, self._launches = False, []

    def _compare(self, old: _Launch, new: _Launch) -> None:
        for key in sorted(old.stores.keys() & new.stores.keys()):
            (before, was), (after, now) = old.stores[key], new.stores[key]
            block = new.ended.footprint, *key
            differs = differing(*block, was[: before.size], now[: after.size]) & (before != 0) & (after != 0)
            if differs.any():
                byte = int(differs.argmax())
                changed = np.where(differs, now[: after.size], was[: before.size])
                effect = change(*block, was[: before.size], changed)
                self._say(self._finding(new, key[0], key[1] * BLOCK + byte, int(after[byte]), effect))
                return

    def _finding(self, launch: _Launch, address: int, byte: int, number: int, effect: str) -> Finding:
        footprint, kernel = launch.ended.footprint, launch.ended.footprint.kernel
        region, offset = element(footprint, address, byte) or (None, None)
        programs = np.array([number - footprint.first - 1])
        if number <= footprint.first:  # several: who comes first can be any of them
            programs = np.arange(min(_PROGRAMS, int(np.prod(footprint.grid))))
        with launch.ended.again(programs, byte=Byte(address, byte)) as repeated:
            _, place, program = _reader(repeated.touches, int(programs[0]))
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
            footprint.grid_index(footprint.first + 1 + program),
            place.line,
            place.source,
            place.file,
        )


def _reader(touches: list[Touch], otherwise: int) -> Touch:
    """The first access that reads; where none does, the first that stores, or an unknown line of this program."""
    return min(touches, key=lambda touch: not touch.reads, default=Touch(False, Place(), otherwise))
