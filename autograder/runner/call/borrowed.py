"""Private names of PyTorch and Python on which the running of an answer rests: here, and nowhere else in `runner`.

Seen in PyTorch 2.13. Each function says what does not work where its name is gone.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch._library.custom_ops import OPDEFS
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["TorchDispatchMode"]  # without it nothing watches what an answer calls: guards, recorder, memory of a call


def schema(operator: Any) -> Any:
    """Returns what an operator of ATen's takes, returns and changes in place: guards, recorder, elements that were
    written.
    """
    return operator._schema


def body_of(operator: Any) -> Callable[..., Any] | None:
    """The function of an operator made by `torch.library.custom_op` or `triton_op`, whose steps are the operator's;
    None for others: recorder.
    """
    definition = OPDEFS.get(schema(operator).name)
    return definition._init_fn if definition else None


def forward_mode() -> bool:
    """Returns whether derivatives are taken forward: else an answer could have its gradient computed by PyTorch."""
    return forward_ad._current_level >= 0


def address_of(storage: torch.UntypedStorage) -> int:
    """Returns which storage it is, also where it is empty: the peak of a call's memory."""
    return int(storage._cdata)


def is_view(tensor: torch.Tensor) -> bool:
    """Returns whether it shares its memory with another: replay, which adopts what an operator made."""
    return tensor._is_view()


def differentiating() -> bool:
    """Returns whether autograd runs a derivative in this thread: an operator that a candidate calls there is no call of
    the answer.
    """
    return torch._C._current_graph_task_id() >= 0


READ = torch.ops.aten._local_scalar_dense.default  # a number into Python: what hangs on it cannot be replayed


# What follows blocks operators in a worker, which removes most of it from PyTorch before it loads an answer: it is
# looked up at each call, and kept nowhere.


def core() -> ModuleType:
    """PyTorch's module in machine code, from which a worker removes what would open the block."""
    return torch._C


def replaced_kernels(namespace: str) -> Any:
    """A library that replaces kernels of a namespace; PyTorch has no public name for its type."""
    return torch._C._dispatch_library("IMPL", namespace, "", __file__, 0)


def fill_new_memory() -> None:
    """Has new memory hold the same in each call. PyTorch's public function imports its compiler as well, for a setting
    of that, which took each process of a candidate of `compare` most of its time.
    """
    torch._C._set_deterministic_algorithms(True, warn_only=True)


def without_graph_optimizer() -> None:
    """Keeps TorchScript from differentiating by itself."""
    torch._C._set_graph_executor_optimize(False)


def operators_with(key: str) -> list[str]:
    """The operators with a kernel under a dispatch key."""
    return torch._C._dispatch_get_registrations_for_dispatch_key(key)


def has_kernel(operator: str, key: str) -> bool:
    """Returns whether an operator is known to the dispatcher, which does not know TorchScript's own, as mul.left_t of a
    list, and has a kernel under this key.
    """
    known = torch._C._dispatch_has_kernel(operator)
    return known and torch._C._dispatch_has_kernel_for_dispatch_key(operator, key)


def c_functions() -> ModuleType:
    """Returns what `ctypes` calls functions of C by: a worker ends that."""
    import _ctypes

    return _ctypes


def loader() -> ModuleType:
    """Returns what loads a module in machine code: the same."""
    import _imp

    return _imp
