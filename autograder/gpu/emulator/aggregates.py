"""Methods of `triton.aggregate`: Triton's compiler passes an aggregate to its methods, its interpreter drops them."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import triton
import triton.language as tl
from triton.runtime.interpreter import InterpretedFunction


def with_methods(original: Callable[[type], Any]) -> Callable[[type], Any]:
    """Triton's decorator, followed by the interpreted methods of the class."""

    @functools.wraps(original)
    def aggregate(cls: type) -> Any:
        wrapped = original(cls)
        for name, member in inspect.getmembers(cls):
            if isinstance(member, InterpretedFunction) and name != "__init__":
                static = isinstance(inspect.getattr_static(cls, name), staticmethod)
                setattr(wrapped, name, staticmethod(member) if static else _method(member))
        return wrapped

    return aggregate


def _method(function: Any) -> Callable[..., Any]:
    @functools.wraps(function.fn)
    def method(*args: Any, **named: Any) -> Any:
        return function(*args, **named)

    return method


def owners() -> list[tuple[Any, str]]:
    """Where this Triton keeps the decorator."""
    return [(owner, name) for owner, name in ((triton, "aggregate"), (tl.core, "_aggregate")) if hasattr(owner, name)]
