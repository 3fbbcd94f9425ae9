"""Says how large the integers of a kernel could become in a larger tensor, and whether an offset would outgrow its 32
bits.

No case is large enough to show it of every kernel. So integers carry a mark of what they are made of, in the ``attr``
of their handle, from the operation that makes them to the pointer that they are added to. With it goes which false
claims about values (`claims`) were made of them: above the bits of a kind, one bit for each claim.
"""

from collections.abc import Mapping

from triton.runtime.interpreter import TensorHandle

_MARK = "grows"

LANE = 1  # lanes of a block, programs of the second and third axis: of so few that a constant times them fits
SIZE = 2  # arguments of the launch, counters, loaded indices: up to the size of one dimension
PROGRAM = 3  # programs of the first axis: with a constant times them, up to the size of a tensor
INDEX = 4  # the latter product, in 32 bits: an index of one dimension, or an offset into a whole tensor
WIDE = 5  # a product in 64 bits
NARROW = 6  # a product of two numbers that vary, in 32 bits: an offset into a whole tensor
_KINDS = 7
_CLAIMS = 3  # bits below those of claims


def mark(handle: TensorHandle, kind: int) -> TensorHandle:
    """The handle, marked. kind: 0 leaves it as it is."""
    if kind:
        handle.attr[_MARK] = kind
    return handle


def doubt(handle: TensorHandle, claim: int) -> None:
    """Marks a handle with the number of a claim about it that is false; not what it was made of."""
    handle.attr = {**handle.attr, _MARK: kind_of(handle) | 1 << (_CLAIMS + claim)}


def doubts(kind: int) -> list[int]:
    """The numbers of the false claims in a mark."""
    return [claim for claim in range((kind >> _CLAIMS).bit_length()) if kind >> (_CLAIMS + claim) & 1]


def kind_of(handle: TensorHandle) -> int:
    """The mark of a handle; 0 for a constant and what nothing is known of."""
    attr: Mapping[str, int] = handle.attr
    return attr.get(_MARK, 0) if attr else 0


def product(kind: int, other: int, wide: bool) -> int:
    """The mark of a product, or of a number shifted to the left. wide: in 64 bits."""
    if claims := (kind | other) & ~_KINDS:
        return product(kind & _KINDS, other & _KINDS, wide) | claims
    low, high = min(kind, other), max(kind, other)
    if high == NARROW or not high:
        return high
    if wide:
        return WIDE
    if low and high >= SIZE:
        return NARROW
    return INDEX if high >= PROGRAM else high


def total(kind: int, other: int) -> int:
    """The mark of a sum or a difference. Beside a product in 64 bits an index is one of the last dimension."""
    return max(kind & _KINDS, other & _KINDS) | (kind | other) & ~_KINDS


def quotient(kind: int) -> int:
    """The mark of a quotient."""
    return min(kind & _KINDS, PROGRAM) | kind & ~_KINDS


def least(kind: int, other: int) -> int:
    """The mark of a minimum, or of a remainder of the division by ``other``."""
    return min(kind & _KINDS, other & _KINDS) | (kind | other) & ~_KINDS


def converted(kind: int, wide: bool) -> int:
    """The mark of an integer in another number of bits."""
    return INDEX | kind & ~_KINDS if kind & _KINDS == WIDE and not wide else kind


def outgrows(kind: int) -> bool:
    """Returns whether an offset of this mark wraps around in a tensor that is large enough."""
    return kind & _KINDS in (INDEX, NARROW)
