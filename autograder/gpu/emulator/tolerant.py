"""Memory of a launch that goes on behind accesses out of bounds which somebody knows of: without their lanes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .access import Access
from .address_space import Outside
from .findings import EmulatorError, Finding


class Tolerant(Access):
    """Reports an access out of bounds for which ``passes`` holds, and performs it without the lanes that are outside:
    they load ``other``, or what masked-off lanes hold, and store nothing. Others stop the launch.
    """

    passes: Callable[[Finding], bool]

    def load(
        self,
        addresses: np.ndarray,
        mask: np.ndarray | None,
        other: np.ndarray | None,
        filler: np.ndarray,
        ordered: bool,
    ) -> np.ndarray:
        """Loads a block. Raises EmulatorError for what does not pass."""
        try:
            return super().load(addresses, mask, other, filler, ordered)
        except EmulatorError as error:
            inside = self._inside(error, addresses, mask, filler.itemsize)
            return super().load(addresses, inside, other, filler, ordered)

    def store(self, addresses: np.ndarray, values: np.ndarray, mask: np.ndarray | None) -> None:
        """Stores a block. Raises EmulatorError for what does not pass."""
        try:
            super().store(addresses, values, mask)
        except EmulatorError as error:
            itemsize = values.dtype.itemsize
            super().store(addresses, values, self._inside(error, addresses, mask, itemsize))

    def atomic(
        self,
        addresses: np.ndarray,
        mask: np.ndarray | None,
        itemsize: int,
        semantics: tuple[bool, bool],
        perform: Callable[[np.ndarray, np.ndarray], np.ndarray],
        between: bool,
        used: bool,
    ) -> np.ndarray:
        """Does an atomic on a block. Raises EmulatorError for what does not pass."""
        rest: tuple[Any, ...] = itemsize, semantics, perform, between, used
        try:
            return super().atomic(addresses, mask, *rest)
        except EmulatorError as error:
            return super().atomic(addresses, self._inside(error, addresses, mask, itemsize), *rest)

    def _inside(
        self, error: EmulatorError, addresses: np.ndarray, mask: np.ndarray | None, itemsize: int
    ) -> np.ndarray:
        """The mask without lanes that are outside, after a report. Raises the error where it does not pass."""
        finding = error.finding
        if not self.passes(finding):
            raise error
        self._report(finding.kind, finding.tensor, lambda place: finding)
        on = np.ones(addresses.shape, dtype=bool) if mask is None else np.broadcast_to(mask, addresses.shape).copy()
        flat, every = on.reshape(-1), addresses.reshape(-1)
        for lane in np.flatnonzero(flat).tolist():
            flat[lane] = not isinstance(self.space.resolve(every[lane : lane + 1], itemsize), Outside)
        return on
