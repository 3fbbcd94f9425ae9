"""Results of the last calls that a later call must leave alone: a caller may still need them."""

from collections.abc import Mapping

import torch

from .given import apart
from .tree import Tree

CALLS = 4  # as many are looked at again: an answer may use several buffers in turn
MOST = 1 << 26  # bytes of a result of the last call that is looked at again
EARLIER = 1 << 20  # bytes of one of a call before it
OVERWRITTEN = (
    "This call wrote over {}, which an earlier call returned and its caller may still need: return a new tensor each "
    "time."
)

_Kept = tuple[str, torch.Tensor, torch.Tensor]  # its name, itself, and the bits that it had when it was returned


class KeptResults:
    """Results of the last `CALLS` calls, and the bits that they had when they were returned."""

    def __init__(self) -> None:
        self._calls: list[list[_Kept]] = []

    def keep(self, returned: Mapping[str, torch.Tensor]) -> None:
        """Keeps what a call returned."""
        earlier = [_at_most(EARLIER, call) for call in self._calls[1 - CALLS :]]
        last = [(name, result, apart(result)) for name, result in returned.items() if _size(result) <= MOST]
        self._calls = [*earlier, last]

    def lost(self) -> str:
        """Returns the name of the first result that has other bits by now; "" where all have kept theirs."""
        results = (result for call in self._calls for result in call)
        changed = (name for name, result, bits in results if not Tree((apart(result),)).same_bits((bits,)))
        return next(changed, "")


def _at_most(size: int, call: list[_Kept]) -> list[_Kept]:
    return [(name, result, bits) for name, result, bits in call if _size(result) <= size]


def _size(result: torch.Tensor) -> int:
    return result.untyped_storage().nbytes()
