"""Says what the lanes of one program have loaded and stored, and whether other lanes of it come upon that.

A GPU's threads do not wait for each other: where lanes load what other lanes have stored, or store what others have
loaded, `tl.debug_barrier()` has to stand between the two. A lane's own element is in order. So is a store behind a
reduction, a scan or a product, whose threads exchange what they have loaded.
"""

import functools
from dataclasses import dataclass

import numpy as np

KEPT = 8  # accesses to one storage that are kept one by one; of more the last ones are joined


@dataclass(frozen=True, eq=False)
class Touched:
    """Elements of one storage and the lanes that touched them. at: their places in the storage; by: the lanes."""

    at: np.ndarray
    by: np.ndarray

    def joined(self, later: "Touched") -> "Touched":
        """Returns what both touched: of each element the first and the last lane, which is all that `meets` asks."""
        at, by = np.concatenate([self.at, later.at]), np.concatenate([self.by, later.by])
        ranks = np.lexsort((by, at))
        at, by = at[ranks], by[ranks]
        ends = np.ones(at.size + 1, dtype=bool)
        ends[1:-1] = at[1:] != at[:-1]
        outer = ends[1:] | ends[:-1]
        return Touched(at[outer], by[outer])

    def meets(self, at: np.ndarray, by: np.ndarray) -> bool:
        """Returns whether an element at ``at`` was touched by another lane than the one of ``by`` that comes upon it
        now.
        """
        if not at.size or not self.at.size or self.at.max() < at.min() or at.max() < self.at.min():
            return False
        if np.array_equal(self.at, at) and np.array_equal(self.by, by):
            return False
        places, lanes = self._sorted
        first, end = np.searchsorted(places, at), np.searchsorted(places, at, side="right")
        wide = end > first
        first, end, by = first[wide], end[wide], by[wide]
        return bool(((lanes[first] != by) | (lanes[end - 1] != by)).any())

    @functools.cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """Places in ascending order, and the lanes of each, also in order."""
        ranks = np.lexsort((self.by, self.at))
        return self.at[ranks], self.by[ranks]


def keep(kept: list[Touched], now: Touched) -> None:
    """Adds an access to those of a storage. Where there are many, those behind are joined as long as the one before is
    no larger, so that a loop of n accesses leaves a number of them that grows with log n.
    """
    kept.append(now)
    while len(kept) > KEPT and kept[-2].at.size <= kept[-1].at.size:
        later, earlier = kept.pop(), kept.pop()
        kept.append(earlier.joined(later))
