"""Where in a storage the elements of an access lie: seen once, so that neighbours are copied whole."""

import copy

import numpy as np


class Places:
    """One run of neighbours, or any offsets, of shape ``shape``.

    low, high: the least and the greatest offset.
    run: whether they are one run of neighbours in order, which has no element twice and takes no memory.
    """

    def __init__(self, at: np.ndarray):
        self.shape, self.size = at.shape, at.size
        first, last = int(at.flat[0]), int(at.flat[-1])
        self.run = last - first == at.size - 1 and bool(
            (at.ravel() == np.arange(first, last + 1, dtype=at.dtype)).all()
        )
        self.low, self.high = (first, last) if self.run else (int(at.min()), int(at.max()))
        self._at = None if self.run else at

    def moved(self, distance: int) -> "Places":
        """The same places from another beginning."""
        if not distance:
            return self
        places = copy.copy(self)
        places.low, places.high = self.low + distance, self.high + distance
        if self._at is not None:
            places._at = self._at.astype(np.int64) + distance
        return places

    def in_one_row(self) -> "Places":
        """The same places as one row of lanes."""
        places = copy.copy(self)
        places.shape, places._at = (self.size,), None if self._at is None else self._at.ravel()
        return places

    @property
    def at(self) -> np.ndarray:
        """The offsets."""
        return np.arange(self.low, self.high + 1).reshape(self.shape) if self._at is None else self._at

    @property
    def units(self) -> "slice | np.ndarray":
        """The offsets, as a slice where they are one run."""
        return slice(self.low, self.high + 1) if self._at is None else self._at

    def take(self, words: np.ndarray) -> np.ndarray:
        """A copy of what is there."""
        if self._at is not None:
            return words.take(self._at)
        return words[self.low : self.high + 1].reshape(self.shape).copy()

    def put(self, words: np.ndarray, values: np.ndarray) -> None:
        """Writes values, one for each place or what broadcasts to them."""
        if self._at is not None:
            words[self._at] = values
        else:
            words[self.low : self.high + 1].reshape(self.shape)[...] = values
