"""Says what the tensors on the simulated GPU take, for the functions of `torch.cuda` that programs ask.

Bytes are the tensors' own, without an allocator's rounding and pools; a tensor that a program moved or computed there
counts as long as its storage lives.
"""

import weakref
from collections import OrderedDict
from typing import Any

import torch

_SIZES = ("allocated_bytes", "active_bytes", "requested_bytes", "reserved_bytes")
_COUNTS = ("allocation", "active", "segment")
_NONE = ("inactive_split_bytes", "inactive_split")


class Usage:
    """A quantity now, at its highest, and how much of it came and went."""

    def __init__(self) -> None:
        self.current = self.peak = self.allocated = self.freed = 0

    def add(self, amount: int) -> None:
        """Counts what was allocated."""
        self.current += amount
        self.allocated += amount
        self.peak = max(self.peak, self.current)

    def remove(self, amount: int) -> None:
        """Counts what was freed."""
        self.current -= amount
        self.freed += amount


_bytes, _tensors = Usage(), Usage()


def note(storage: torch.UntypedStorage) -> None:
    """Counts a storage that comes to lie on the GPU, until it is gone."""
    size = storage.nbytes()
    _bytes.add(size)
    _tensors.add(1)
    weakref.finalize(storage, _gone, size).atexit = False


def _gone(size: int) -> None:
    _bytes.remove(size)
    _tensors.remove(1)


def bytes_now(*_: Any, **__: Any) -> int:
    """Bytes of the tensors on the GPU."""
    return _bytes.current


def bytes_at_most(*_: Any, **__: Any) -> int:
    """The most that they took since the peak was reset."""
    return _bytes.peak


def reset_peak(*_: Any, **__: Any) -> None:
    """Begins to look for the highest use anew."""
    for usage in (_bytes, _tensors):
        usage.peak = usage.current


def reset_accumulated(*_: Any, **__: Any) -> None:
    """Begins to add up what came and went anew."""
    for usage in (_bytes, _tensors):
        usage.allocated = usage.freed = 0


def statistics(*_: Any, **__: Any) -> "OrderedDict[str, Any]":
    """The entries of `torch.cuda.memory_stats`."""
    numbers: dict[str, Any] = {}
    for names, usage in ((_SIZES, _bytes), (_COUNTS, _tensors), (_NONE, Usage())):
        for name in names:
            for pool, usage_of_pool in (("all", usage), ("large_pool", usage), ("small_pool", Usage())):
                numbers |= {f"{name}.{pool}.{part}": number for part, number in vars(usage_of_pool).items()}
    for name in ("oversize_allocations", "oversize_segments"):
        numbers |= {f"{name}.{part}": 0 for part in vars(Usage())}
    idle = "num_alloc_retries num_ooms num_sync_all_streams num_device_alloc num_device_free max_split_size"
    return OrderedDict(sorted((numbers | dict.fromkeys(idle.split(), 0)).items()))


def nested() -> dict[str, Any]:
    """`statistics` as `torch.accelerator` has them: a dictionary for each part of a name."""
    tree: dict[str, Any] = {}
    for name, number in statistics().items():
        *path, last = name.split(".")
        inner = tree
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = number
    return tree
