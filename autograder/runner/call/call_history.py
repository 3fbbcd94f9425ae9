"""Calls in the emulator that keep what each float of their results was computed from, and in which order."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .examination import Index
from .tree import Args


@dataclass(frozen=True)
class FollowedElement:
    """An element of a result. histories: those of its call. history: its own, equal to that of another element which
    was computed alike.
    """

    histories: Any
    history: np.uint64

    def parting(self, other: "FollowedElement") -> Any:
        """Where its computation and another's part (`gpu.emulator.history.tape.Parting`); None where they do not, or
        that is not found.
        """
        alike = self.history == other.history
        return None if alike else self.histories.parting(self.history, other.histories, other.history)


@dataclass(frozen=True)
class FollowedCall:
    """outputs: the call's own, of which ``histories`` knows the memory. one_by_one: kernel and reason of the first
    launch whose programs did not run together, so that its histories are not known; None where there is none.
    """

    outputs: Args
    histories: Any
    one_by_one: tuple[str, str] | None

    def element(self, output: int, index: Index) -> FollowedElement:
        """The element of an output."""
        return FollowedElement(self.histories, self.of(self.outputs[output])[index])

    def of(self, tensor: torch.Tensor) -> np.ndarray:
        """The history of each of its elements, uint64; equal ones were computed alike."""
        return self.histories.of(tensor)  # type: ignore[no-any-return]


def parting(one: FollowedElement, other: FollowedElement) -> tuple[str, ...]:
    """Where two elements part, in words: what is done in the one call, and what in the other; none where they do not,
    or that is not found.
    """
    found = one.parting(other)
    return (found.here, found.there) if found else ()
