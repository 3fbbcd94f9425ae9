"""Results of the last calls that a later call must leave alone: a caller may still need them."""

from collections.abc import Mapping

import torch

from .elements import same_bits

CALLS = 4  # as many are looked at again: an answer may use several buffers in turn
MOST = 1 << 26  # bytes of a result of the last call that is looked at again
EARLIER = 1 << 20  # bytes of one of a call before it
OVERWRITTEN = (
    "This call wrote over {}, which an earlier call returned and its caller may still need: return a new tensor each "
    "time."
)

_Kept = tuple[str, torch.Tensor, torch.Tensor]  # its name, itself, and a copy as it was when it was returned


class KeptResults:
    """Results of the last `CALLS` calls, and copies of them as they were when they were returned."""

    def __init__(self) -> None:
        self._calls: list[list[_Kept]] = []

    def keep(self, returned: Mapping[str, torch.Tensor], copies: Mapping[str, torch.Tensor]) -> None:
        """Keeps what a call returned. copies: of it, on the CPU, which nothing writes to."""
        earlier = [_at_most(EARLIER, call) for call in self._calls[1 - CALLS :]]
        last = [(name, result, copies[name]) for name, result in returned.items() if _size(result) <= MOST]
        self._calls = [*earlier, last]

    def lost(self) -> str:
        """Returns the name of the first result that has other bits by now; "" where all have kept theirs."""
        results = (result for call in self._calls for result in call)
        changed = (name for name, result, copy in results if not same_bits(_resolved(result), copy))
        return next(changed, "")


def _resolved(result: torch.Tensor) -> torch.Tensor:
    """Returns the numbers of a result on the CPU: a lazy conjugate or negative has other bits than they."""
    return result.detach().cpu().resolve_conj().resolve_neg()


def _at_most(size: int, call: list[_Kept]) -> list[_Kept]:
    return [kept for kept in call if _size(kept[1]) <= size]


def _size(result: torch.Tensor) -> int:
    return result.untyped_storage().nbytes()
