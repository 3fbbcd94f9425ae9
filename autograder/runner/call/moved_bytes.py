"""The bytes that PyTorch's own copies and fills move, which no kernel's launch shows."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...gpu import ATEN

_COPY = frozenset({"clone", "copy", "_to_copy"})
_FILL = frozenset(
    "zeros zeros_like new_zeros full full_like new_full ones ones_like new_ones fill zero scalar_tensor".split()
)


@dataclass
class MovedBytes:
    """loaded, stored: in bytes, over all operators that were noted."""

    loaded: int = 0
    stored: int = 0

    def note(self, operator: str, given: Sequence[int], made: Sequence[int]) -> None:
        """Counts an operator that copies its last tensor, or fills one. given, made: the bytes of each tensor that it
        takes, and of each that it makes; of one that it changes in place, none.
        """
        name = ATEN.base(operator)
        if name in _COPY or name in _FILL:
            self.stored += sum(made) if made else given[0]
            self.loaded += given[-1] if name in _COPY else 0
