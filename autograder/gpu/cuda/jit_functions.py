"""Interpreted kernels pass for compiled ones: libraries look for a `triton.JITFunction`, make them by it, and read its
attributes.
"""

import inspect
from typing import Any

import triton
import triton.compiler.code_generator  # noqa: F401  and Gluon, made of JITFunction[T], before that is replaced
from triton.runtime import autotuner, jit
from triton.runtime.interpreter import InterpretedFunction

_JITFunction = jit.JITFunction  # as it is outside of the simulation
_READ_THOUGH_HIDDEN = ("__globals__", "__qualname__", "_fn_name")


def replacements() -> list[tuple[Any, str, Any]]:
    """What has the attribute, its name, and what it becomes."""
    function = _also_interpreted(jit.JITFunction)
    return [
        *((owner, "JITFunction", function) for owner in (triton, triton.runtime, jit, autotuner)),
        (jit, "JITCallable", _also_interpreted(jit.JITCallable)),  # which the hash of a kernel's source looks for
        (InterpretedFunction, "__getattr__", _of_twin),
    ]


def _also_interpreted(kind: type) -> type:
    """A subclass that interpreted functions are instances of. Their own bases cannot be changed: the layouts differ."""

    class Meta(type):
        def __instancecheck__(cls, one: object) -> bool:
            return isinstance(one, (kind, InterpretedFunction))

        def __call__(cls, *args: Any, **named: Any) -> Any:
            """What `triton.jit` makes; of a subclass, which compiles, its own object."""
            if cls is not function:
                return super().__call__(*args, **named)
            given = inspect.signature(kind).bind(*args, **named).arguments
            return InterpretedFunction(given.pop("fn"), **given)

    function = Meta(kind.__name__, (kind,), {"__module__": kind.__module__})
    return function


def _of_twin(function: InterpretedFunction, name: str) -> Any:
    """An attribute that the interpreter's class lacks, such as ``params`` or ``cache_key``: the compiled twin's."""
    if name.startswith("_") and name not in _READ_THOUGH_HIDDEN:
        raise AttributeError(name)
    if "_twin" not in vars(function):
        try:
            function._twin = _JITFunction(function.fn, **function.kwargs)
        except ValueError as error:  # there is no source
            raise AttributeError(f"{name}: {error}") from None
    return getattr(function._twin, name)
