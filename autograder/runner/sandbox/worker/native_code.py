"""Ends the use of machine code by its address, and of more of it: PyTorch's own functions can be called so, below the
dispatcher.

`ctypes` calls functions through objects of one type. They stay, and can no longer be called; nor can those of types
that inherit from it, now or later.
"""

import ctypes
import functools
import gc
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from typing import Any

from ...call.borrowed import c_functions, loader
from .blocked_operators import holders

_CALL = object.__sizeof__(object()) + 14 * ctypes.sizeof(ctypes.c_void_p)  # of `tp_call` in an object that is a type
_WHY = "An answer calls PyTorch's operators; functions of a library cannot be called here, nor another library loaded."
_loading: list[tuple[dict[str, Any], str]] = []


def prepare() -> None:
    """Once, before processes are forked that call `end`: it takes looks at all objects."""
    _loading.extend(holders(loader(), ["create_dynamic"]))
    for holder, name in holders(c_functions(), ("call_function", "call_cdeclfunction")):
        del holder[name]


@functools.cache
def end() -> None:
    """Ends calls of C functions. Raises RuntimeError where a C function can still be called."""
    pointer: Any = c_functions().CFuncPtr
    methods: dict[str, Any] = gc.get_referents(pointer.__dict__)[0]
    del methods["__call__"]
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(pointer))
    ctypes.CDLL.__init__ = _refuse  # type: ignore[method-assign]
    for kind in _kinds(pointer):
        ctypes.c_void_p.from_address(id(kind) + _CALL).value = None
    for holder, name in _loading:
        holder[name] = _refuse_module
    if hasattr(c_functions(), "call_function") or callable(ctypes.pythonapi.Py_GetVersion):
        raise RuntimeError("functions of C libraries can still be called")


def _refuse(*arguments: object, **options: object) -> None:
    raise OSError(_WHY)  # as where there is no such library


def _refuse_module(spec: ModuleSpec, file: object = None) -> None:
    without = "an answer can load none besides those of PyTorch, Triton and NumPy. Write it without."
    raise ImportError(f"{spec.name} needs a library of its own: {without}", name=spec.name)


def _kinds(kind: type) -> Iterator[type]:
    """It, and all that inherit from it."""
    yield kind
    subclasses: list[type] = kind.__subclasses__()
    for subclass in subclasses:
        yield from _kinds(subclass)
