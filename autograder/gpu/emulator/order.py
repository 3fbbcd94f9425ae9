"""Says what comes before what among the programs of one launch: releases and acquires on words of memory.

A program that releases a word, as one that gives back a lock does, publishes what it has done so far. One that acquires
the word later comes after that, and after nothing that the first does once it has released. One thread releases: what
the others have done since the last barrier is not published with it.
"""

from dataclasses import dataclass, field

LATE = 1 << 30  # an epoch that nothing comes after


@dataclass
class Word:
    """An element that programs do atomics on. released: by program, its epoch, this time included,
    when it last released here. after: the words that its releasers had acquired before.
    """

    released: dict[int, int] = field(default_factory=dict)
    after: list["Word"] = field(default_factory=list)


class Order:
    """The programs begin one after the other. ``epoch``: how often the present one has released. hurried: programs and
    their epochs of what other threads had done when one released.
    """

    def __init__(self) -> None:
        self._words: dict[int, Word] = {}
        self.hurried: set[tuple[int, int]] = set()
        self.begin(0)

    def begin(self, program: int) -> None:
        """Begins a program, by its number."""
        self.program, self.epoch = program, 0
        self._acquired: list[Word] = []

    @property
    def locked(self) -> bool:
        """Returns whether the present program has acquired anything."""
        return bool(self._acquired)

    def synchronise(self, address: int, acquires: bool, releases: bool) -> None:
        """Notes that the present program acquires or releases the word at an address."""
        word = self._words.setdefault(address, Word())
        if acquires and all(word is not other for other in self._acquired):
            self._acquired.append(word)
        if releases:
            self.epoch += 1
            word.released[self.program] = self.epoch
            word.after += [old for old in self._acquired if old is not word and all(old is not a for a in word.after)]

    def hurry(self) -> int:
        """The epoch of what other threads have done at the release just noted, which is not published with it. What
        comes now has another.
        """
        hurried = self.epoch
        self.hurried.add((self.program, hurried))
        self.epoch += 1
        return hurried

    def ordered(self, program: int, epoch: int, first: int) -> bool:
        """Returns whether what ``program`` did in its ``epoch`` comes before what the present program does now. The
        number ``first`` stands for several programs, which are taken to be ordered if another one has released.
        """
        if program == first:
            return epoch != LATE and any(word.released.keys() - {self.program} for word in self._before())
        return any(word.released.get(program, 0) > epoch for word in self._before())

    def released(self, program: int) -> bool:
        """Returns whether the present program comes after something of ``program``."""
        return any(program in word.released for word in self._before())

    def _before(self) -> list[Word]:
        """The words that were acquired, and those that were before the programs that released these."""
        words = list(self._acquired)
        for word in words:  # it grows meanwhile
            words += [old for old in word.after if all(old is not known for known in words)]
        return words
