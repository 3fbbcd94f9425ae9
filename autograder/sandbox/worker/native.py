"""Ends calls of C functions in this process: by their addresses PyTorch's own can be called, below the dispatcher.

`ctypes` calls them through objects of one type. They stay, and can no longer be called; nor can those of types that
inherit from it, now or later.
"""

import _ctypes
import ctypes
import functools
import gc
from collections.abc import Iterator

from .blocked import holders

_CALL = object.__sizeof__(object()) + 14 * ctypes.sizeof(ctypes.c_void_p)  # of `tp_call` in an object that is a type
_WHY = "An answer calls PyTorch's operators; functions of a library cannot be called here, nor another library loaded."


def forget_other_ways() -> None:
    """Once, before processes are forked that call `end_calls`: it takes a look at all objects."""
    for holder, name in holders(_ctypes, ("call_function", "call_cdeclfunction")):
        del holder[name]


@functools.cache
def end_calls() -> None:
    """From now on. Raises RuntimeError where a C function can still be called."""
    methods: dict = gc.get_referents(_ctypes.CFuncPtr.__dict__)[0]
    del methods["__call__"]
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(_ctypes.CFuncPtr))
    ctypes.CDLL.__init__ = _refuse  # type: ignore[method-assign]
    for kind in _kinds(_ctypes.CFuncPtr):
        ctypes.c_void_p.from_address(id(kind) + _CALL).value = None
    if hasattr(_ctypes, "call_function") or callable(ctypes.pythonapi.Py_GetVersion):
        raise RuntimeError("functions of C libraries can still be called")


def _refuse(*arguments, **options) -> None:
    raise OSError(_WHY)  # as where there is no such library


def _kinds(kind: type) -> Iterator[type]:
    """It, and all that inherit from it."""
    yield kind
    subclasses: list[type] = kind.__subclasses__()
    for one in subclasses:
        yield from _kinds(one)
