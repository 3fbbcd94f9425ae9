"""Says what the lanes of one program have loaded and stored, and whether other lanes of it come upon that.

A GPU's threads do not wait for each other: where lanes load what other lanes have stored, or store what others have
loaded, `tl.debug_barrier()` has to stand between the two. A lane's own element is in order. So is a store behind a
reduction, a scan or a product, whose threads exchange what they have loaded.
"""

import numpy as np

KEPT = 8  # loads from one storage that are held against a store: the last ones


class Touched:
    """Elements of one storage and the lanes that touched them. at: their places in the storage; by: the lanes."""

    def __init__(self, at: np.ndarray, by: np.ndarray):
        self.at, self.by = at, by

    def meets(self, at: np.ndarray, by: np.ndarray) -> bool:
        """Returns whether an element at ``at`` was touched by another lane than the one of ``by`` that comes upon it
        now.
        """
        if not at.size or not self.at.size or self.at.max() < at.min() or at.max() < self.at.min():
            return False
        if np.array_equal(self.at, at) and np.array_equal(self.by, by):
            return False
        ranks = np.lexsort((self.by, self.at))
        places, lanes = self.at[ranks], self.by[ranks]
        first, end = np.searchsorted(places, at), np.searchsorted(places, at, side="right")
        wide = end > first
        first, end, by = first[wide], end[wide], by[wide]
        return bool(((lanes[first] != by) | (lanes[end - 1] != by)).any())
