"""Notes which operators of PyTorch a function calls."""

from collections import Counter
from dataclasses import replace
from typing import Any

import torch

from ...gpu import ATEN, lazily
from .borrowed import TorchDispatchMode, differentiating, schema
from .callee import Callee
from .tree import Args, Tree

MOVES = ATEN.memory | frozenset(  # what moves numbers, or reads them, without computing
    "cat stack arange index item _local_scalar_dense constant_pad_nd set copy select_backward slice_backward "
    "expand_copy _unsafe_index resize".split()
)


@lazily
class OperatorNotes(TorchDispatchMode):
    """Notes the operators that compute. elements: of the largest tensor that each is given, over all of its calls.
    derivative: the same of those that autograd, or a backward of one's own, calls. draws: those that draw random
    numbers. as_bits: the dtypes of floating-point numbers whose bits are read.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.elements: Counter[str] = Counter()
        self.derivative: Counter[str] = Counter()
        self._backward = False  # of one's own
        self.draws: dict[str, None] = {}
        self.as_bits: set[torch.dtype] = set()

    def of_call(self, callee: Callee, args: Args, above: int) -> Any:
        """Returns what `Callee.call` returns, noted."""

        def backward(*args: Any) -> Any:
            self._backward = True
            return callee.backward(*args) if callee.backward else None

        noted = replace(callee, backward=backward) if callee.backward else callee
        with self:
            return noted.call(above)(*args)

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Lets the compiler trace while the mode is active, which sees what the compiled program calls."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = named(schema(func).name)
        if name not in MOVES:
            inputs = Tree((*args, *(kwargs or {}).values())).tensors
            noted = self.derivative if self._backward or differentiating() else self.elements
            noted[name] += max((tensor.numel() for tensor in inputs), default=0)
        if torch.Tag.nondeterministic_seeded in func.tags:
            self.draws[name] = None
        if func is torch.ops.aten.view.dtype and args[0].is_floating_point():
            self.as_bits.add(args[0].dtype)
        return func(*args, **(kwargs or {}))


def named(schema: str) -> str:
    """``scale`` for ``aten::scale_``; the whole name of an operator that is not PyTorch's own."""
    return ATEN.base(schema) if schema.startswith("aten::") else schema
