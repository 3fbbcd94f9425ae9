"""Private names of PyTorch on which judging rests: here, and nowhere else in `judge`. Seen in PyTorch 2.13."""

from collections.abc import Callable
from typing import Any

from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

__all__ = [
    "TorchDispatchMode",  # derived tolerances; what a reference rounds and leaves open
    "tree_map",  # derived tolerances: the parts of a result
]


def schema(operator: Any) -> Any:
    """Returns what an operator of ATen's takes, returns and changes in place: derived tolerances, and what a
    reference leaves open.
    """
    return operator._schema


def overload_name(operator: Any) -> str:
    """``Tensor`` of ``aten::add.Tensor``: a derived tolerance of what is computed in place."""
    return str(operator._overloadname)


def decomposition(operator: Any) -> Callable[..., Any] | None:
    """The steps of an operator in PyTorch's own words: a derived tolerance of operators of several steps."""
    return decomposition_table.get(operator)
