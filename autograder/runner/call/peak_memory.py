"""The most memory that tensors took at once, counted from the operators that made them; the same on every machine."""

import weakref

import torch

from .borrowed import address_of


class Peak:
    """Counts the bytes of every storage it is shown, from then until PyTorch frees it. ``most`` is the high-water mark.

    What an operator takes inside itself and gives back is not seen.
    """

    def __init__(self) -> None:
        self.now = self.most = 0
        self._known: dict[int, weakref.finalize[..., torch.UntypedStorage]] = {}

    def exclude(self, tensor: torch.Tensor) -> None:
        """Leaves out memory that was there before, and views of it."""
        self._watch(tensor, 0)

    def note(self, result: object) -> None:
        """Counts what an operator returned, or was given."""
        for part in result if isinstance(result, tuple | list) else (result,):
            if isinstance(part, torch.Tensor):
                self._watch(part, part.untyped_storage().nbytes())
            elif isinstance(part, tuple | list):
                self.note(part)

    def _watch(self, tensor: torch.Tensor, nbytes: int) -> None:
        storage = tensor.untyped_storage()
        key = address_of(storage)
        if key in self._known:
            return
        self._known[key] = weakref.finalize(storage, self._free, key, nbytes)
        self.now += nbytes
        self.most = max(self.most, self.now)

    def _free(self, key: int, nbytes: int) -> None:
        self.now -= nbytes
        self._known.pop(key, None)
