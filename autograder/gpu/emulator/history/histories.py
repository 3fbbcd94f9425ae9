"""The histories of one run in the emulator."""

import numpy as np
import torch

from ..findings import Place
from .stored import Stored
from .tape import Parting, Tape, TapeStep, parting


class Histories:
    """Those of every float of the launches in the block of an emulator, and each operation, so that it can be told
    where two results part.

    What no rule here names (`tl.dot_scaled`, inline assembly, a bitcast, PyTorch between kernels) is followed by its
    bits alone, and a launch of which the emulator runs one program at a time is not followed (`Emulator.fallbacks`).
    """

    def __init__(self) -> None:
        self.stored, self.tape = Stored(), Tape()

    def of(self, tensor: torch.Tensor) -> np.ndarray:
        """The histories of a result's elements."""
        return self.stored.of(tensor)

    def note(
        self,
        name: str,
        place: Place,
        result: np.ndarray,
        operands: tuple[np.ndarray, ...] = (),
        lanes: tuple[np.ndarray, ...] = (),
    ) -> None:
        """Keeps an operation."""
        self.tape.steps.append(TapeStep(name, place, result, operands, lanes))

    def unordered(self, tensor: torch.Tensor) -> str:
        """The first sum of more than two floats by atomics that some element of a result was computed from, in words;
        "" where there is none. Only the order of more than two is chance: a + b is b + a.
        """
        return self.tape.unordered(np.unique(self.of(tensor)))

    def parting(self, h: np.uint64, other: "Histories", k: np.uint64) -> Parting | None:
        """Where the result with the history ``h`` and one with ``k`` of another run part; None where that is not
        found.
        """
        return parting((self.tape, h), (other.tape, k))
