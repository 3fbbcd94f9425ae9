"""A formula in which means are something else, as an answer computes it that adds up or goes along another axis."""

from collections.abc import Iterator
from typing import Any

import torch

from ...gpu import lazily
from ..records.borrowed import TorchDispatchMode

ALONG = "every mean or sum that is taken from a row were along the other axis"
MEAN, SUM = torch.ops.aten.mean.dim, torch.ops.aten.sum.dim_IntList
SUMS = "every mean were a sum"


@lazily
class ChangedMeans(TorchDispatchMode):
    """Computes means otherwise while a formula runs. axis: whether along the first dimension; else as a sum. left: how
    many of the first stay what they are, as the mean of x does that a backward pass is given. changed: whether one was.
    """

    def __init__(self, axis: bool, left: int):
        super().__init__()  # type: ignore[no-untyped-call]
        self.axis, self.left, self.changed = axis, left, False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        counts = func is MEAN or (self.axis and func is SUM)
        if counts:
            self.left -= 1
        if counts and self.left < 0:
            tensor, dims, *keepdim = args
            keepdim = bool(keepdim and keepdim[0]) or bool((kwargs or {}).get("keepdim"))
            if not self.axis:
                self.changed = True
                return tensor.sum(dims, keepdim)
            if tensor.dim() == 2 and keepdim and [dim % 2 for dim in dims] == [1]:
                self.changed = True
                return func(tensor, [0], True)
        return func(*args, **(kwargs or {}))


def changed_formulas() -> Iterator[tuple[str, ChangedMeans]]:
    """Each change in words, to complete "comes out as if", and the mode under which the oracle computes so."""
    for left in (0, 1):
        yield SUMS, ChangedMeans(axis=False, left=left)
        yield ALONG, ChangedMeans(axis=True, left=left)
