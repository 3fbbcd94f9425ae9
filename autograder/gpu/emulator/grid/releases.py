"""Says which access of a program comes before one of another, where the programs of a launch run together.

`..order` has it of programs that run one after the other. Here time passes with each release and acquire: what a
program has done before it releases a word comes before what another does once it has acquired the word later. Only
these two are looked at, and no chain of programs: where more is needed, the launch runs one program at a time. So it
does where the one that acquires is the earlier of the two in the launch's order: it may not have waited for the other.
"""

from collections.abc import Iterable

import numpy as np

from ..order import LATE

Accesses = Iterable[tuple[int, int, int]]  # of which program an access was, its time, and which program comes later


class Releases:
    """The words that programs have released and acquired. time: of the last time that one did. ranks: where in the
    launch's order its programs come, or None where they come as they are numbered, from ``first`` on.
    """

    def __init__(self, ranks: np.ndarray | None, first: int) -> None:
        self._ranks, self._first = ranks, first
        self.time = 0
        self._released: dict[tuple[int, int], list[int]] = {}  # times, by word and program
        self._acquired: dict[int, dict[int, int]] = {}  # the last time, by program and word

    def note(self, program: int, word: int, acquires: bool, releases: bool) -> int:
        """Notes that a program acquires or releases the word at an address; returns the time of that."""
        self.time += 1
        if acquires:
            self._acquired.setdefault(program, {})[word] = self.time
        if releases:
            self._released.setdefault((word, program), []).append(self.time)
        return self.time

    def order(self, accesses: Accesses, now: int = LATE) -> bool:
        """Returns whether each of some accesses comes before what its later program does at the time ``now``."""
        return bool(self.time) and all(self._orders(*access, now) for access in accesses)

    def _orders(self, program: int, when: int, later: int, now: int) -> bool:
        for word, acquired in self._acquired.get(later, {}).items():
            if acquired <= now and any(when < time < acquired for time in self._released.get((word, program), ())):
                return self._rank(program) < self._rank(later)
        return False

    def _rank(self, program: int) -> int:
        return program if self._ranks is None else int(self._ranks[program - self._first])
