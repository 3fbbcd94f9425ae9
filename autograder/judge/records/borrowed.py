"""Private names of PyTorch on which judging rests: here, and nowhere else in `judge`. Seen in PyTorch 2.13."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_map

__all__ = [
    "TorchDispatchMode",  # derived tolerances; what a reference and a candidate compute
    "tree_map",  # derived tolerances: the parts of a result
]


def schema(operator: Any) -> Any:
    """What an operator of ATen's takes, returns and changes in place: derived tolerances, and how a candidate
    computes.
    """
    return operator._schema


def overload_name(operator: Any) -> str:
    """``Tensor`` of ``aten::add.Tensor``: a derived tolerance of what is computed in place."""
    return str(operator._overloadname)


def decomposition(operator: Any) -> Callable[..., Any] | None:
    """The steps of an operator in PyTorch's own words: a derived tolerance of operators of several steps."""
    return decomposition_table.get(operator)


def differentiating() -> bool:
    """Whether autograd runs a derivative in this thread: an operator that a candidate calls there is no call of the
    answer.
    """
    return torch._C._current_graph_task_id() >= 0


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """Inside, no mode sees what is called: without it a reference takes ten times as long on a simulated GPU."""
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        yield
