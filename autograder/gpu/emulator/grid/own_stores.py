"""What programs of a pass have stored since their last barrier: other lanes of theirs must not load it."""

from dataclasses import dataclass, replace

import numpy as np

from ..memory import Region


@dataclass(frozen=True)
class OwnStore:
    """A store. rows: of the pass, those that stored, in ascending order. offsets: one row for each, or one for all."""

    region: Region
    rows: np.ndarray
    offsets: np.ndarray

    def without(self, rows: np.ndarray) -> "OwnStore | None":
        """The store of the other rows, which have not come to a barrier; None where there is no other."""
        if np.array_equal(rows, self.rows):
            return None
        left = ~np.isin(self.rows, rows)
        return replace(self, rows=self.rows[left], offsets=_some(self.offsets, left)) if left.any() else None

    def differs(self, rows: np.ndarray, offsets: np.ndarray) -> bool:
        """Whether some of these rows load, at ``offsets``, by other lanes than those that stored."""
        if np.array_equal(rows, self.rows):
            return not _equal(self.offsets, offsets)
        stored, loads = np.isin(self.rows, rows), np.isin(rows, self.rows)
        return bool(stored.any()) and not _equal(_some(self.offsets, stored), _some(offsets, loads))


def _some(offsets: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return offsets if len(offsets) == 1 else offsets[rows]


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape[1:] == other.shape[1:] and bool((one == other).all())
