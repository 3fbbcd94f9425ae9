"""The elements of its own memory that an answer wrote with PyTorch's operators.

A NaN that goes through may have the very bits of the poison that `torch.empty` hands out. Where an operator wrote, the
bits say nothing.
"""

from typing import Any

import numpy as np
import torch

from ...gpu import ATEN
from .borrowed import schema
from .tree import Args

_BY_MASK = frozenset({"masked_fill", "masked_scatter"})
_BY_INDEX = frozenset({"index_copy", "index_fill", "index_add", "index_reduce"})
_BY_SCATTER = frozenset({"scatter", "scatter_add", "scatter_reduce"})


class Written:
    """The elements that were written since their memory was allocated: a flag for each, in order of memory."""

    def __init__(self) -> None:
        self._flags: dict[int, torch.Tensor] = {}  # address of a storage -> flags for its elements

    def allocated(self, tensor: torch.Tensor) -> None:
        """Notes that the memory of ``tensor`` is new, and nothing in it written."""
        size = tensor.untyped_storage().nbytes() // tensor.element_size()
        self._flags[tensor.untyped_storage().data_ptr()] = torch.zeros(size, dtype=torch.bool)

    def note(self, func: Any, args: Args, kwargs: dict[str, Any]) -> None:
        """Notes that ``func`` ran: what it changed in place, or filled as ``out``, is written."""
        if not schema(func).is_mutable:
            return
        arguments = schema(func).arguments
        given = {a.name: value for a, value in zip(arguments, args, strict=False)} | kwargs
        for argument in arguments:
            target = given.get(argument.name)
            changed = argument.alias_info is not None and argument.alias_info.is_write
            flags = self._of(target) if changed and isinstance(target, torch.Tensor) else None
            if flags is not None:
                _mark(flags, ATEN.base(schema(func).name), given)

    def elements(self, tensor: torch.Tensor) -> np.ndarray | None:
        """A flag for each element of ``tensor``, or None where its memory is not known."""
        flags = self._of(tensor)
        return None if flags is None else flags.numpy().ravel()

    def _of(self, tensor: torch.Tensor) -> torch.Tensor | None:
        storage = tensor.untyped_storage()
        flags = self._flags.get(storage.data_ptr())
        if flags is None or len(flags) != storage.nbytes() // tensor.element_size():
            return None  # seen as elements of another size
        return flags.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def _mark(flags: torch.Tensor, name: str, given: dict[str, Any]) -> None:
    if name in ("index_put", "_index_put_impl"):
        torch.ops.aten.index_put_(flags, given["indices"], torch.tensor(True))
    elif name in _BY_MASK:
        flags.logical_or_(given["mask"])
    elif name in _BY_INDEX:
        flags.index_fill_(given["dim"], given["index"], True)
    elif name in _BY_SCATTER:
        flags.scatter_(given["dim"], given["index"], True)
    else:
        flags.fill_(True)
