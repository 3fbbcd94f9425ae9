"""What `tl.multiple_of`, `tl.max_contiguous` and `tl.max_constancy` claim of a block, held against its values.

Triton's compiler believes them when it joins the lanes of a load or store into one access of several elements.
"""

from dataclasses import dataclass

import numpy as np

NAMES = ("multiple_of", "max_contiguous", "max_constancy")


@dataclass(frozen=True)
class FalseClaim:
    """A claim that a value makes false. before: the value of the lane before it."""

    name: str
    size: int
    value: int
    before: int | None


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
