"""Memory of a CUDA graph: what is allocated in its capture is its own; of all else it has the address alone."""

import functools
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ..borrowed import DisableTorchDispatch, DisableTorchFunction, tree_map_only


@dataclass(frozen=True, eq=False)
class OutsideTensor:
    """A tensor that was there before a capture: how it lies in its storage, which the graph does not keep."""

    storage: "weakref.ref[torch.UntypedStorage]"
    dtype: torch.dtype
    shape: torch.Size
    stride: tuple[int, ...]
    offset: int

    def tensor(self) -> torch.Tensor:
        """The tensor, whose memory is not freed."""
        storage = self.storage()
        assert storage is not None
        with DisableTorchFunction(), DisableTorchDispatch():
            return torch.empty(0, dtype=self.dtype).set_(storage, self.offset, self.shape, self.stride)

    def stand_in(self) -> torch.Tensor:
        """A tensor of zeros in memory of its own on the GPU, in place of the one whose memory is freed."""
        last = sum((size - 1) * stride for size, stride in zip(self.shape, self.stride, strict=True))
        whole = torch.zeros(last + 1, dtype=self.dtype, device="cuda")
        return whole.as_strided(self.shape, self.stride)


class CapturedArguments:
    """The arguments of a launch or an operator, as a graph has them.

    names: of the parameters, in order. freed: called at a replay with the name of each whose memory was freed since the
    capture; this replay and those after it get zeros in its place.
    """

    def __init__(
        self,
        names: Iterable[str],
        args: Iterable[Any],
        options: Mapping[str, Any],
        memory: "GraphMemory",
        freed: Callable[[str], None],
    ):
        by_position = dict(zip(names, args, strict=False))
        self._by_position, self._freed = tuple(by_position), freed
        self._values = tree_map_only(torch.Tensor, memory.captured, {**by_position, **options})

    def replayed(self) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a replay, by position and by name."""
        for name, value in self._values.items():
            self._values[name] = tree_map_only(OutsideTensor, functools.partial(self._kept, name), value)
        tensors = tree_map_only(OutsideTensor, OutsideTensor.tensor, self._values)
        return [tensors.pop(name) for name in self._by_position], tensors

    def _kept(self, name: str, outside: OutsideTensor) -> OutsideTensor | torch.Tensor:
        if outside.storage() is not None:
            return outside
        self._freed(name)
        return outside.stand_in()


class GraphMemory:
    """Storages that were allocated in a capture: they live as long as the graph."""

    def __init__(self) -> None:
        self._storages: dict[int, torch.UntypedStorage] = {}

    def add(self, storage: torch.UntypedStorage) -> None:
        """Keeps a storage."""
        self._storages[id(storage)] = storage

    def captured(self, tensor: torch.Tensor) -> torch.Tensor | OutsideTensor:
        """The tensor as the graph has it: one on the GPU, or pinned, whose memory is not the graph's by its address."""
        with DisableTorchFunction():
            plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout == torch.strided
            if not plain or tensor.is_nested or tensor.is_meta or not tensor.numel():
                return tensor
            storage = tensor.untyped_storage()
            there = getattr(storage, "_on_gpu", False) or getattr(storage, "_pinned", False)
            if not there or id(storage) in self._storages:
                return tensor
            return OutsideTensor(
                weakref.ref(storage), tensor.dtype, tensor.shape, tensor.stride(), int(tensor.storage_offset())
            )
