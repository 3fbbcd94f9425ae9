"""Tensors that PyTorch hands out uninitialised: filled with poison, so that what was never written is found."""

import numpy as np
import torch

from ...words import count
from . import messages, poison
from .findings import Finding
from .shadow import Shadow

_MOST = 1 << 28  # bytes of a storage


class FreshMemory:
    """Which storages were handed out, by address: their bytes, and the dtype with whose poison they began."""

    def __init__(self) -> None:
        self.storages: dict[int, tuple[int, torch.dtype]] = {}

    def poison_(self, tensor: torch.Tensor) -> torch.Tensor:
        """Fills a fresh uninitialised tensor with its dtype's poison, remembers that it has not been written, and
        returns it. Storages over 256 MiB are left as they are: their pages may never be touched.
        """
        storage = tensor.untyped_storage()
        if tensor.device.type == "cpu" and 0 < storage.nbytes() <= _MOST:
            poison.fill(tensor)
            self.storages[storage.data_ptr()] = storage.nbytes(), tensor.dtype
        return tensor

    def never_written(
        self, tensor: torch.Tensor, written: np.ndarray | None = None, shadow: Shadow | None = None
    ) -> np.ndarray | None:
        """A flag for each element, set where nobody wrote it; None where all of them were written.

        written: flags of elements that somebody else knows to be written. shadow: knows what kernels stored.
        """
        storage = tensor.untyped_storage()
        if self.storages.get(storage.data_ptr(), (0, None))[0] != storage.nbytes() or not tensor.numel():
            return None
        pattern = poison.of_torch(tensor.dtype)
        words = poison.memory(storage.data_ptr(), storage.nbytes()).view(pattern.dtype).reshape(-1, pattern.size)
        if not (words == pattern).all(axis=1).any():
            return None
        start = np.full((1,) * tensor.dim(), int(tensor.storage_offset()), dtype=np.int64)
        for dim, (n, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
            start = start + (np.arange(n) * stride).reshape([-1 if d == dim else 1 for d in range(tensor.dim())])
        empty = (words[start.ravel()] == pattern).all(axis=1)
        if written is not None:
            empty &= ~written
        if shadow is not None and empty.any():
            at = shadow.positions(storage.data_ptr(), start.ravel()[empty], tensor.dtype.itemsize)
            empty[empty] = ~shadow.written(at).reshape(int(empty.sum()), -1).all(axis=1)
        return empty if empty.any() else None

    def unwritten(
        self, tensor: torch.Tensor, name: str = "the output", written: np.ndarray | None = None
    ) -> Finding | None:
        """A finding that names the elements of a tensor that were never written; None if there are none."""
        empty = self.never_written(tensor, written)
        return None if empty is None else unwritten(name, tensor.shape, empty, stored=None)


def unwritten(
    name: str,
    shape: torch.Size,
    empty: np.ndarray,
    cure: str = "Store the result in it.",
    stored: int | None = 0,
    room: int = 0,
    idle: messages.Idle | None = None,
) -> Finding:
    """The finding on a tensor of which the elements of ``empty`` were never written. cure: said where that is all of
    them. stored: how many elements kernels stored, None where none runs. room: how many the memory has, of which the
    tensor may be a part. idle: programs that stored nothing.
    """
    first = int(empty.argmax())
    if empty.all():
        text = f"{name} ({count(empty.size, 'element')}) was never written. {cure}"
    else:
        index = tuple(int(i) for i in np.unravel_index(first, shape))
        text = messages.some_unwritten(name, int(empty.sum()), empty.size, index, stored, room, idle)
    return Finding("unwritten", text, "", name, first)
