"""Tensors that PyTorch hands out uninitialised: filled with poison, so that what was never written is found."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ...words import count
from ..borrowed import DisableTorchDispatch, DisableTorchFunction
from . import messages, poison
from .findings import Finding
from .shadow import Shadow
from .written_elements import written_by

_MOST = 1 << 28  # bytes of a storage


@dataclass
class Fresh:
    """A storage that began uninitialised: its bytes, the dtype of its elements, the words of one that nobody wrote, and
    which of them PyTorch has written, in order of memory; None where it has none.
    """

    nbytes: int
    dtype: torch.dtype
    pattern: np.ndarray
    written: torch.Tensor | None = None

    def of_words(self, unit: int) -> np.ndarray | None:
        """Those of all words of so many bytes; None where that is not an element's size."""
        return None if self.written is None or unit != self.dtype.itemsize else self.written.numpy()

    def begin(self, written: bool) -> None:
        """Has flags from now on. written: what they are, where there were none."""
        if self.written is None:
            self.written = torch.from_numpy(np.full(self.nbytes // self.dtype.itemsize, written))

    def flags(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """Those of a tensor in the storage; None where its elements are of another size."""
        if self.written is None or tensor.element_size() != self.dtype.itemsize:
            return None
        return self.written.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


class FreshMemory:
    """Holds which storages were handed out, by address."""

    def __init__(self) -> None:
        self.storages: dict[int, Fresh] = {}

    def poison_(self, tensor: torch.Tensor) -> torch.Tensor:
        """Fills a fresh uninitialised tensor with its dtype's poison, remembers that it has not been written, and
        returns it. Storages over 256 MiB are left as they are: their pages may never be touched.
        """
        storage = tensor.untyped_storage()
        with DisableTorchFunction():  # on a simulated GPU the tensor would say that it lies there
            if tensor.device.type == "cpu" and 0 < storage.nbytes() <= _MOST:
                poison.fill(tensor)
                self.storages[storage.data_ptr()] = Fresh(storage.nbytes(), tensor.dtype, poison.of_torch(tensor.dtype))
        return tensor

    def note_written(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Notes that an operator of PyTorch's ran: what it changed in place, or filled as ``out``, is written."""
        if not self.storages:  # as during most answers in PyTorch, at each of whose operators this is asked
            return
        for target, mark in written_by(func, args, kwargs):
            fresh = self._of(target)
            if fresh is not None:
                fresh.begin(False)
                flags = fresh.flags(target)
                if flags is not None:
                    mark(flags)

    def copied(self, tensor: torch.Tensor, missing: torch.Tensor, source: torch.dtype) -> None:
        """Notes that elements which nobody wrote were copied to a tensor. missing: which of its elements they are;
        source: their dtype before.
        """
        fresh = self._of(tensor)
        if fresh is None:
            storage = tensor.untyped_storage()
            fresh = Fresh(storage.nbytes(), tensor.dtype, _converted(source, tensor.dtype))
            fresh.begin(True)
            self.storages[storage.data_ptr()] = fresh
        fresh.begin(False)
        flags = fresh.flags(tensor)
        if flags is not None:
            with DisableTorchDispatch():
                flags.copy_(~missing)

    def _of(self, tensor: torch.Tensor) -> Fresh | None:
        with DisableTorchFunction():
            if tensor.device.type != "cpu" or tensor.layout != torch.strided:
                return None
        storage = tensor.untyped_storage()
        fresh = self.storages.get(storage.data_ptr())
        return fresh if fresh is not None and fresh.nbytes == storage.nbytes() else None

    def never_written(self, tensor: torch.Tensor, shadow: Shadow | None = None) -> np.ndarray | None:
        """A flag for each element, set where nobody wrote it; None where all of them were written.

        shadow: knows what kernels stored.
        """
        fresh, storage = self._of(tensor), tensor.untyped_storage()
        if fresh is None or not tensor.numel():
            return None
        pattern = fresh.pattern if tensor.dtype == fresh.dtype else poison.of_torch(tensor.dtype)
        words = poison.memory(storage.data_ptr(), storage.nbytes()).view(pattern.dtype).reshape(-1, pattern.size)
        if not (words == pattern).all(axis=1).any():
            return None
        start = np.full((1,) * tensor.dim(), int(tensor.storage_offset()), dtype=np.int64)
        for dim, (n, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
            start = start + (np.arange(n) * stride).reshape([-1 if d == dim else 1 for d in range(tensor.dim())])
        empty = (words[start.ravel()] == pattern).all(axis=1)
        flags = fresh.flags(tensor)
        if flags is not None:
            empty &= ~flags.numpy().ravel()
        if shadow is not None and empty.any():
            at = shadow.positions(storage.data_ptr(), start.ravel()[empty], tensor.dtype.itemsize)
            empty[empty] = ~shadow.written(at).reshape(int(empty.sum()), -1).all(axis=1)
        return empty if empty.any() else None

    def unwritten(self, tensor: torch.Tensor, name: str = "the output") -> Finding | None:
        """A finding that names the elements of a tensor that were never written; None if there are none."""
        empty = self.never_written(tensor)
        return None if empty is None else unwritten(name, tensor.shape, empty, stored=None)


def _converted(source: torch.dtype, dtype: torch.dtype) -> np.ndarray:
    """The words of an element that nobody wrote, after it was converted."""
    words = poison.of_torch(dtype)
    if source == dtype:
        return words
    with DisableTorchDispatch():
        element = torch.from_numpy(np.zeros(source.itemsize, dtype=np.uint8)).view(source)
        poison.fill(element)
        return element.to(dtype).view(torch.uint8).numpy().view(words.dtype)


def unwritten(
    name: str,
    shape: torch.Size,
    empty: np.ndarray,
    cure: str = "Store the result in it.",
    stored: int | None = 0,
    room: int = 0,
    last: messages.StoringLaunch | None = None,
) -> Finding:
    """The finding on a tensor of which the elements of ``empty`` were never written. cure: said where that is all of
    them. stored: how many elements kernels stored, None where none runs. room: how many the memory has, of which the
    tensor may be a part. last: the launch that stored there last.
    """
    if empty.all():
        text = f"{name} ({count(empty.size, 'element')}) was never written. {cure}"
    else:
        text = messages.some_unwritten(name, shape, empty, stored, room, last)
    return Finding("unwritten", text, "", name, int(empty.argmax()))
