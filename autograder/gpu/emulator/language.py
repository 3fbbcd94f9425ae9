"""Says what the emulator changes in Triton's language: worked out once, set at the beginning of each block.

Triton's own interpreter looks through the whole language again for every call of a device function.
"""

import functools
import inspect
import operator
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import triton.language as tl
from triton.language.extra import cuda
from triton.language.extra import libdevice as any_libdevice
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.runtime import interpreter

from ..borrowed import patch_lang_core, patch_lang_tensor
from . import claims, counters, dialect, elementwise, registers

_ABSENT = object()


@dataclass
class LanguageChange:
    """Attributes of one owner, a module or a class. old: what Triton has, by name; _ABSENT where it has none."""

    owner: Any
    old: dict[str, Any] = field(default_factory=dict)
    new: dict[str, Any] = field(default_factory=dict)

    @property
    def undone(self) -> bool:
        """Returns whether the owner has what Triton gave it."""
        return all(map(operator.is_, map(vars(self.owner).get, self.old, repeat(_ABSENT)), self.old.values()))

    def make(self) -> None:
        """Sets the new attributes."""
        self._put(self.new)

    def undo(self) -> None:
        """Sets Triton's attributes again."""
        missing = [name for name, value in self.old.items() if value is _ABSENT]
        self._put({name: value for name, value in self.old.items() if value is not _ABSENT} if missing else self.old)
        for name in missing:
            delattr(self.owner, name)

    def _put(self, values: dict[str, Any]) -> None:
        if isinstance(self.owner, types.ModuleType):
            vars(self.owner).update(values)
            return
        for name, value in values.items():
            setattr(self.owner, name, value)


def changes() -> list[LanguageChange]:
    """The changes of the language, by owner: worked out once, and again where somebody else has changed it."""
    if _known and all(change.undone for change in _known):
        return _known
    scope = _Scope()
    for lang in (tl, tl.core):
        _patch_builtins(lang, scope)
        _patch_builtins(lang.tensor, scope)
        patch_lang_tensor(lang.tensor, scope)
        patch_lang_core(lang, scope)
        scope.set_attr(lang, "static_assert", dialect.static_assert)
        scope.set_attr(lang, "static_print", dialect.static_print)
        scope.set_attr(lang, "range", counters.span)
        scope.set_attr(lang, "map_elementwise", elementwise.map_elementwise)
        for name in claims.NAMES:
            scope.set_attr(lang, name, functools.partial(dialect.claimed, name, getattr(lang, name)))
    _patch_builtins(tl.math, scope)
    _patch_builtins(tl.core.tensor_descriptor_base, scope)
    for name, method in _unpatched_methods().items():
        scope.set_attr(tl.tensor, name, method)
    scope.set_attr(tl.tensor, "__bool__", dialect.truth)
    scope.set_attr(tl.tensor, "__index__", dialect.index)
    scope.set_attr(tl.tensor, "T", property(dialect.transposed))
    for name, method in dialect.constant_operators().items():
        scope.set_attr(tl.constexpr, name, method)
    for name, function in libdevice().items():
        scope.set_attr(cuda_libdevice, name, function)
        if hasattr(any_libdevice, name):
            scope.set_attr(any_libdevice, name, function)
    for name, function in of_cuda().items():
        scope.set_attr(cuda, name, function)
    _known[:] = scope.taken_back()
    return _known


_known: list[LanguageChange] = []


def of_cuda() -> dict[str, Callable[..., Any]]:
    """Returns what `triton.language.extra.cuda` has of functions for a GPU alone, as they run here, by name."""
    # The next launch begins when this one has ended.
    return {"gdc_wait": _waited, "gdc_launch_dependents": lambda: None, **registers.FUNCTIONS}


def _waited() -> None:
    """A launch waits for the one before it (programmatic dependent launch)."""
    interpreter.interpreter_builder.access.waited = True


def _patch_builtins(owner: Any, scope: "_Scope") -> None:
    """The interpreter's `_patch_builtin`, with one call where it has three."""
    for name, member in inspect.getmembers(owner):
        if tl.core.is_builtin(member):
            scope.set_attr(owner, name, _with_semantic(member))


def _with_semantic(builtin: Callable[..., Any]) -> Callable[..., Any]:
    """The function that `tl.core.builtin` wraps to ask whether there is a semantic, given one."""
    function = getattr(builtin, "__wrapped__", builtin)

    def call(*args: Any, **named: Any) -> Any:
        named["_semantic"] = interpreter.interpreter_semantic
        return function(*args, **named)

    return call


class _Scope:
    """Stands for Triton's own scope: changes are made, written down, and taken back."""

    def __init__(self) -> None:
        self._made: dict[int, LanguageChange] = {}

    def set_attr(self, owner: object, name: str, value: Any) -> None:
        """Sets an attribute and writes down what it was."""
        change = self._made.setdefault(id(owner), LanguageChange(owner))
        change.old.setdefault(name, vars(owner).get(name, _ABSENT))
        change.new[name] = value
        setattr(owner, name, value)

    def taken_back(self) -> list[LanguageChange]:
        """The changes made so far, undone."""
        undone = list(self._made.values())
        for change in undone:
            change.undo()
        return undone


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


def _free(tensor: tl.tensor, name: str, *args: Any, **named: Any) -> Any:
    return getattr(tl.math, name)(tensor, *args, **named)


def inject(builtin: Callable[..., Any], original: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A language function that is called without its semantic, which the compiler would pass. It goes by the name of
    the ``original`` that it takes the place of.
    """

    def function(*args: Any, **named: Any) -> Any:
        named["_semantic"] = interpreter.interpreter_semantic
        return builtin(*args, **named)

    function.__module__, function.__name__ = (original or builtin).__module__, (original or builtin).__name__
    return function
