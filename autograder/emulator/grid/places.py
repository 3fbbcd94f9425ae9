"""Where in a storage the elements of an access lie: seen once, so that neighbours are copied whole and counted by their
ends.
"""

import copy

import numpy as np

_SHORT = 64  # rows of fewer elements are gathered one by one


class Places:
    """One run of neighbours, rows of neighbours, or any offsets, of shape ``shape``.

    low, high: the least and the greatest offset.
    apart: certainly no element twice.
    rising: certainly none twice in what lies along the last axis alone, or in a run.
    """

    def __init__(self, at: np.ndarray):
        self.shape, self.size = at.shape, at.size
        self._at = self._starts = None  # of any offsets; of rows
        first, last = int(at.flat[0]), int(at.flat[-1])
        if last - first == at.size - 1 and (at.ravel() == np.arange(first, last + 1, dtype=at.dtype)).all():
            self.low, self.high, self.apart, self.rising = first, last, True, True
            return
        starts = _starts(at.reshape(-1, at.shape[-1])) if at.ndim > 1 and at.shape[-1] >= _SHORT else None
        if starts is None:
            self._at, self.low, self.high = at, int(at.min()), int(at.max())
            self.apart = self.rising = False
            return
        self._starts = starts = starts.astype(np.int64)
        self.low, self.high = int(starts.min()), int(starts.max()) + at.shape[-1] - 1
        ordered = np.sort(starts)
        self.apart = bool((ordered[1:] - ordered[:-1] >= at.shape[-1]).all())
        self.rising = at.ndim == 2

    def moved(self, distance: int) -> "Places":
        """The same places from another beginning."""
        if not distance:
            return self
        places = copy.copy(self)
        places.low, places.high = self.low + distance, self.high + distance
        if self._starts is not None:
            places._starts = self._starts + distance
        elif self._at is not None:
            places._at = self._at.astype(np.int64) + distance
        return places

    @property
    def compact(self) -> bool:
        """Whether they take next to no memory."""
        return self._at is None

    @property
    def at(self) -> np.ndarray:
        if self._at is not None:
            return self._at
        if self._starts is None:
            return np.arange(self.low, self.high + 1).reshape(self.shape)
        return (self._starts[:, None] + np.arange(self.shape[-1])).reshape(self.shape)

    def take(self, words: np.ndarray) -> np.ndarray:
        """A copy of what is there."""
        if self._at is not None:
            return words.take(self._at)
        if self._starts is None:
            return words[self.low : self.high + 1].reshape(self.shape).copy()
        rows: np.ndarray = self._windows(words)[self._starts]
        return rows.reshape(self.shape)

    def put(self, words: np.ndarray, values: np.ndarray) -> None:
        if self._at is not None:
            words[self._at] = values
        elif self._starts is None:
            words[self.low : self.high + 1].reshape(self.shape)[...] = values
        else:
            whole = np.broadcast_to(values, self.shape).reshape(-1, self.shape[-1])
            self._windows(words)[self._starts] = whole

    def _windows(self, words: np.ndarray) -> np.ndarray:
        """A view of every row of this width. numpy's own takes ten times as long to make."""
        width, steps = self.shape[-1], (words.itemsize, words.itemsize)
        return np.ndarray((words.size - width + 1, width), words.dtype, words, 0, steps)


def _starts(rows: np.ndarray) -> np.ndarray | None:
    """The first offset of each row, where each is its neighbour's and one more."""
    starts, width = rows[:, 0], rows.shape[1]
    if not (rows[:, -1] - starts == width - 1).all():
        return None
    return starts if (rows == starts[:, None] + np.arange(width, dtype=rows.dtype)).all() else None
