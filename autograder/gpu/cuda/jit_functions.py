"""Interpreted kernels pass for compiled ones: libraries look for a `triton.JITFunction`, make them by it, and read its
attributes.
"""

import inspect
from typing import Any

import triton
from triton.compiler import code_generator  # and Gluon, made of JITFunction[T], before that is replaced
from triton.runtime import autotuner, jit
from triton.runtime.interpreter import InterpretedFunction

_JITFunction = jit.JITFunction  # as it is outside of the simulation
_MAKE = InterpretedFunction.__init__
_READ_THOUGH_HIDDEN = ("__globals__", "__qualname__", "_fn_name", "_pack_args")


def replacements() -> list[tuple[Any, str, Any]]:
    """Returns what has the attribute, its name, and what it becomes."""
    function, callable_ = _also_interpreted(jit.JITFunction), _also_interpreted(jit.JITCallable)
    return [
        *((owner, "JITFunction", function) for owner in (triton, triton.runtime, jit, autotuner, code_generator)),
        # The hash of a kernel's source looks for it, and a program that compiles in its own process.
        *((owner, "JITCallable", callable_) for owner in (jit, code_generator)),
        (InterpretedFunction, "__getattr__", _of_twin),
        (InterpretedFunction, "__init__", _made),
    ]


def _also_interpreted(kind: type) -> type:
    """A subclass that interpreted functions are instances of. Their own bases cannot be changed: the layouts differ."""

    class Meta(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, (kind, InterpretedFunction))

        def __call__(cls, *args: Any, **named: Any) -> Any:
            """Returns what `triton.jit` makes; of a subclass, which compiles, its own object."""
            if cls is not function:
                return super().__call__(*args, **named)
            arguments = inspect.signature(kind).bind(*args, **named).arguments
            return InterpretedFunction(arguments.pop("fn"), **arguments)

    function = Meta(kind.__name__, (kind,), {"__module__": kind.__module__})
    return function


def _made(function: InterpretedFunction, fn: Any, **options: Any) -> None:
    """A kernel is of the module of its function."""
    _MAKE(function, fn, **options)
    function.__module__ = fn.__module__


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
