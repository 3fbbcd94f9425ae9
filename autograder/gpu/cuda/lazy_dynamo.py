"""A mode that does not import `torch._dynamo` before an answer does: the import takes longer than a whole check."""

import sys
from typing import Any, TypeVar

from ..borrowed import TorchDispatchMode

Mode = TypeVar("Mode", bound=TorchDispatchMode)


def lazily(mode: type[Mode]) -> type[Mode]:
    """Decorates a `TorchDispatchMode`. Its ``__torch_dispatch__`` still hides from the compiler, once there is one.

    PyTorch wraps that method in ``torch._dynamo.disable`` and imports the compiler for it at the first operator, unless
    the wrapped function carries what it would have made in its attribute ``__dynamo_disable``.
    """
    method = getattr(mode.__torch_dispatch__, "__wrapped__", None)
    if method is None:  # a PyTorch that does not wrap it
        return mode

    def dispatch(*args: Any, **kwargs: Any) -> Any:
        dynamo = sys.modules.get("torch._dynamo")
        if dynamo is None or not hasattr(dynamo, "disable"):  # absent, or on its way in
            return method(*args, **kwargs)
        hidden = dynamo.disable(method, True, wrapping=False)
        setattr(method, "__dynamo_disable", hidden)
        return hidden(*args, **kwargs)

    setattr(method, "__dynamo_disable", dispatch)
    return mode
