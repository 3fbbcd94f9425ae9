"""What the emulator changes in Triton's language: worked out once, set at the beginning of each block.

Triton's own interpreter looks through the whole language again for every call of a device function.
"""

import functools
import types
from typing import Any

import triton.language as tl
from triton.language.extra import libdevice as any_libdevice
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.runtime import interpreter

from . import dialect

ABSENT = object()


def changes() -> list[tuple[object, str, Any, Any]]:
    """``(owner, name, what Triton has there or ABSENT, what the emulator puts there)``."""
    if _known and all(vars(owner).get(name, ABSENT) is old for owner, name, old, _ in _known):
        return _known
    scope = _Scope()
    builder = interpreter.interpreter_builder
    for lang in (tl, tl.core):
        interpreter._patch_builtin(lang, builder, scope)
        interpreter._patch_builtin(lang.tensor, builder, scope)
        interpreter._patch_lang_tensor(lang.tensor, scope)
        interpreter._patch_lang_core(lang, scope)
        scope.set_attr(lang, "static_assert", dialect.static_assert)
        scope.set_attr(lang, "static_print", dialect.static_print)
        scope.set_attr(lang, "range", dialect.span)
    interpreter._patch_builtin(tl.math, builder, scope)
    interpreter._patch_builtin(tl.core.tensor_descriptor_base, builder, scope)
    for name, method in _unpatched_methods().items():
        scope.set_attr(tl.tensor, name, method)
    scope.set_attr(tl.tensor, "__bool__", dialect.truth)
    scope.set_attr(tl.tensor, "__index__", dialect.index)
    scope.set_attr(tl.tensor, "T", property(dialect.transposed))
    for name, function in libdevice().items():
        scope.set_attr(cuda_libdevice, name, function)
        if hasattr(any_libdevice, name):
            scope.set_attr(any_libdevice, name, function)
    _known[:] = scope.undone()
    return _known


_known: list[tuple[object, str, Any, Any]] = []


class _Scope:
    """In place of Triton's own scope: changes are made, written down, and taken back."""

    def __init__(self):
        self._made: dict[tuple[int, str], tuple[object, str, Any, Any]] = {}

    def set_attr(self, owner: object, name: str, value: Any) -> None:
        old = self._made.get((id(owner), name), (owner, name, vars(owner).get(name, ABSENT)))[2]
        self._made[id(owner), name] = owner, name, old, value
        setattr(owner, name, value)

    def undone(self) -> list[tuple[object, str, Any, Any]]:
        made = list(self._made.values())
        for owner, name, old, _ in made:
            put(owner, name, old)
        return made


def put(owner: object, name: str, value: Any) -> None:
    if value is ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, value)


@functools.cache
def libdevice() -> dict[str, Any]:
    """CUDA's libdevice as functions that run here."""
    return {name: inject(twin) for name, twin in vars(cuda_libdevice).items() if tl.core.is_builtin(twin)}


def _unpatched_methods() -> dict[str, Any]:
    """``x.exp()`` and its like. Triton makes them of functions that are not yet marked as the language's own, so the
    interpreter does not see them; its compiler does.
    """
    functions = {name: function for name, function in vars(tl.math).items() if callable(function)}
    methods = {name for name, method in vars(tl.tensor).items() if isinstance(method, types.FunctionType)}
    missed = {name for name in methods & functions.keys() if not tl.core.is_builtin(vars(tl.tensor)[name])}
    return {name: functools.partialmethod(_free, name) for name in missed}


def _free(tensor, name: str, *args, **named):
    return getattr(tl.math, name)(tensor, *args, **named)


def inject(builtin, original=None):
    """A language function called without its semantic, which the compiler would pass. It goes by the name of the
    ``original`` that it takes the place of.
    """

    def function(*args, **named):
        named["_semantic"] = interpreter.interpreter_semantic
        return builtin(*args, **named)

    function.__module__, function.__name__ = (original or builtin).__module__, (original or builtin).__name__
    return function
