"""The batches that a row is called in: alone, with fewer, with more, elsewhere, and beside numbers of another kind."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

OtherRows = Literal["", "NaN", "huge numbers"]


@dataclass(frozen=True)
class Composition:
    """what: in words. rows: those of the batch that are called together, in order. alone: the one that is compared and
    keeps its numbers, where the others get those of ``beside``; else all are compared.
    """

    what: str
    rows: tuple[int, ...]
    beside: OtherRows = ""
    alone: int | None = None

    @property
    def compared(self) -> tuple[int, ...]:
        """The places in this batch whose results are compared."""
        return tuple(range(len(self.rows))) if self.alone is None else (self.alone,)


def whole_batch(rows: int) -> Composition:
    """The batch as it is."""
    return Composition("the batch", tuple(range(rows)))


def compositions(rows: int) -> Iterator[Composition]:
    """The batches made of a batch of ``rows`` rows, of which there are two or more; no two with the same rows."""
    seen = {tuple(range(rows))}
    for composition in (*_chosen(rows), *_moved(rows)):
        if composition.rows not in seen:
            seen.add(composition.rows)
            yield composition
    for row in (0, rows - 1):
        yield Composition(f"row {row} beside rows of NaN", tuple(range(rows)), "NaN", row)
        yield Composition(f"row {row} beside rows of huge numbers", tuple(range(rows)), "huge numbers", row)


def _chosen(rows: int) -> Iterator[Composition]:
    """Fewer of them."""
    for row in (0, rows // 2, rows - 1):
        yield Composition(f"row {row} alone", (row,))
    yield Composition("the first half", tuple(range(rows // 2)))
    yield Composition("every third row", tuple(range(0, rows, 3)))
    yield Composition("all but the last row", tuple(range(rows - 1)))


def _moved(rows: int) -> Iterator[Composition]:
    """All of them or one, in other places or more than once."""
    every = tuple(range(rows))
    yield Composition("the rows in reverse order", every[::-1])
    yield Composition("the last row first, each other one place later", every[-1:] + every[:-1])
    yield Composition("row 0 twice", (0, 0))
    yield Composition("the batch twice", every * 2)
