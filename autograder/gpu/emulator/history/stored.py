"""The histories of what kernels stored, by storage."""

import numpy as np
import torch

from ..address_space import Region
from ..poison import memory
from .hashes import U, of_bits, seed, stir


class _Storage:
    """The histories of one storage's elements, valid where its bits are still those that were stored."""

    def __init__(self, region: Region):
        self.words = memory(region.address, region.held).view(f"u{region.itemsize}")
        self.bits, self.h = self.words.copy(), np.zeros(self.words.size, U)
        self.known, self.due = np.zeros(self.words.size, bool), False
        self.additions = np.zeros(self.words.size, np.int32)

    def valid(self, at: np.ndarray) -> np.ndarray:
        """At which elements a history is known, and nobody but a kernel has written since."""
        if self.due:  # atomics have their results when their launch has ended
            self.bits[self.known], self.due = self.words[self.known], False
        valid: np.ndarray = self.known[at] & (self.bits[at] == self.words[at])
        return valid


class Stored:
    """All storages that kernels stored floats to."""

    def __init__(self) -> None:
        self._storages: dict[int, _Storage] = {}

    def loaded(self, region: Region, offsets: np.ndarray, data: np.ndarray, h: np.ndarray) -> np.ndarray:
        """The histories of loaded numbers; ``h`` are those of their bits."""
        if self._table(region.address, region.held, region.itemsize) is None:
            return h
        table, at = self._at(region, offsets)
        same = table.valid(at) & (table.bits[at] == data.view(table.bits.dtype))
        return np.where(same, table.h[at], h)

    def store(self, region: Region, offsets: np.ndarray, data: np.ndarray, h: np.ndarray) -> None:
        """Notes numbers that were stored."""
        table, at = self._at(region, offsets)
        table.bits[at], table.h[at], table.known[at] = np.ascontiguousarray(data).view(table.bits.dtype), h, True

    def add(self, region: Region, offsets: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, int]:
        """Notes numbers that atomics added, in any order: the histories of the sums so far, and the most additions to
        one of them; a zero is none.
        """
        table, at = self._at(region, offsets)
        np.add.at(table.h, at, stir(h ^ seed("atomic")))
        np.add.at(table.additions, at, h != 0)
        table.known[at], table.due = True, True
        return table.h[at], int(table.additions[at].max(initial=0))

    def of(self, tensor: torch.Tensor) -> np.ndarray:
        """The histories of a tensor's elements."""
        storage, size = tensor.untyped_storage(), tensor.element_size()
        words = memory(storage.data_ptr(), storage.nbytes()).view(f"u{size}")
        every = np.arange(words.size)[tensor.storage_offset() :]
        at = np.lib.stride_tricks.as_strided(every, tensor.shape, [step * every.itemsize for step in tensor.stride()])
        sign = words.dtype.type(1 << (8 * size - 1))
        h = of_bits(words[at], (words[at] & ~sign) == 0)
        table = self._table(storage.data_ptr(), storage.nbytes(), size)
        return h if table is None else np.where(table.valid(at), table.h[at], h)

    def _table(self, address: int, held: int, itemsize: int) -> _Storage | None:
        """That of the storage at an address; None where there is none, or it is of a storage of another size that was
        there before.
        """
        table = self._storages.get(address)
        return table if table and (table.words.nbytes, table.words.itemsize) == (held, itemsize) else None

    def _at(self, region: Region, offsets: np.ndarray) -> tuple[_Storage, np.ndarray]:
        table = self._table(region.address, region.held, region.itemsize)
        if table is None:
            table = self._storages[region.address] = _Storage(region)
        at = offsets + (region.real - region.address) // region.itemsize
        return table, at.clip(0, table.h.size - 1)  # masked-off lanes may be anywhere
