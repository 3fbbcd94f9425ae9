"""Says what `tl.multiple_of`, `tl.max_contiguous` and `tl.max_constancy` claim of a block, held against its values.

Triton's compiler believes them when it joins the lanes of a load or store into one access of several elements.
"""

from dataclasses import dataclass

import numpy as np

from .findings import Place

_WIDEST = 16  # bytes of one access
NAMES = ("multiple_of", "max_contiguous", "max_constancy")


@dataclass(frozen=True)
class FalseClaim:
    """A claim that a value makes false. before: the value of the lane before it."""

    name: str
    size: int
    value: int
    before: int | None


class Claims:
    """False claims of a launch, by number: each tensor and line has one. false: of each the first, with the tensor, ""
    for integers, the program's number and the place.
    """

    def __init__(self) -> None:
        self.false: dict[int, tuple[FalseClaim, str, int, Place]] = {}
        self._reached: dict[int, int] = {}
        self._numbers: dict[tuple[str, Place], int] = {}

    def number(self, tensor: str, place: Place) -> int:
        """The number of the claim about a tensor at a place."""
        return self._numbers.setdefault((tensor, place), len(self._numbers))

    def add(self, claim: FalseClaim, tensor: str, program: int, place: Place) -> None:
        """Keeps a claim that is false in a program, if it is the first there."""
        self.false.setdefault(self.number(tensor, place), (claim, tensor, program, place))

    def reach(self, number: int, itemsize: int) -> None:
        """Notes that elements of so many bytes are loaded or stored at addresses made of what a claim is about."""
        self._reached[number] = min(itemsize, self._reached.get(number, itemsize))

    def misleads(self, number: int) -> bool:
        """Returns whether a compiler that believes a false claim joins lanes at a misaligned address, in an access of
        16 bytes at most. It does not follow of runs and groups shorter than claimed, as those of rows that wrap around.
        """
        claim, tensor, _, _ = self.false[number]
        if claim.name != "multiple_of" or number not in self._reached:
            return False
        widest = _WIDEST if tensor else _WIDEST // self._reached[number]
        return claim.value % min(claim.size, max(widest, 1)) != 0


def false_claim(name: str, values: np.ndarray, sizes: list[int], step: int) -> FalseClaim | None:
    """The first value that makes a claim false; None where it is true.

    values: integers, or addresses of elements of ``step`` bytes; their last axes are the block's. sizes: what is
    claimed along each of them. A multiple is the first of each run of neighbours, as the compiler means it: those of
    ``tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)`` are multiples of BLOCK. A run, and a group of equal values, has
    ``size`` lanes.
    """
    for axis, size in enumerate(sizes, -len(sizes)):
        lanes = np.moveaxis(values, axis, -1)
        after = lanes[..., 1:] - lanes[..., :-1]
        false = np.zeros(lanes.shape, bool)
        if name == "multiple_of":
            false[...] = lanes % size != 0
            false[..., 1:] &= after != step
        else:
            inside = np.arange(1, lanes.shape[-1]) % size != 0
            false[..., 1:] = inside & (after != (step if name == "max_contiguous" else 0))
        if false.any():
            at = np.unravel_index(int(false.argmax()), lanes.shape)
            before = int(lanes[*at[:-1], at[-1] - 1]) if at[-1] else None
            return FalseClaim(name, size, int(lanes[at]), before)
    return None
