"""Results of a call that the next call must leave alone: a caller may still need them."""

from collections.abc import Mapping

import torch

from .given import apart
from .tree import Tree

MOST = 1 << 26  # bytes of a result that is looked at again
OVERWRITTEN = (
    "This call wrote over {}, which the call before it returned and its caller may still need: return a new tensor "
    "each time."
)


class KeptResults:
    """Results of a call by name, and the bits that they had when it returned."""

    def __init__(self, returned: Mapping[str, torch.Tensor] | None = None):
        small = (
            (name, result) for name, result in (returned or {}).items() if result.untyped_storage().nbytes() <= MOST
        )
        self._results = {name: (result, apart(result)) for name, result in small}

    def lost(self) -> str:
        """The name of the first that has other bits by now; "" where all have kept theirs."""
        changed = (
            name for name, (result, bits) in self._results.items() if not Tree((apart(result),)).same_bits((bits,))
        )
        return next(changed, "")
