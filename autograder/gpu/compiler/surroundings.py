"""What stands around a function of this process: its text, and what it uses by name."""

import inspect
import linecache
import sys
import types
from types import FunctionType
from typing import Any

from .kernel_launch import KernelLaunch
from .names import MODULES


class Surroundings:
    """Of a kernel, or of a function that launches kernels."""

    def __init__(self, function: FunctionType):
        self._function = function

    def texts(self) -> list[str]:
        """The files, or notebook cells, of the function and of the kernels it names, its own first."""
        names: dict[str, None] = {}
        queue, seen = [self._function], set()
        while queue:
            current = queue.pop()
            if current in seen:
                continue
            seen.add(current)
            names.setdefault(current.__code__.co_filename)
            callees = (getattr(current.__globals__.get(name), "fn", None) for name in current.__code__.co_names)
            queue += [c for c in callees if inspect.isfunction(c) and c.__globals__ is current.__globals__]
        return ["".join(linecache.getlines(name)) for name in names]

    def names(self) -> dict[str, dict[str, Any]]:
        """What a kernel and what it calls use by name, for `KernelLaunch`: ``modules`` of Triton's, ``helpers``, the
        jit functions of other modules, and ``values``, what other names stand for.
        """
        modules: dict[str, str] = {}
        helpers: dict[str, tuple[str, str]] = {}
        values: dict[str, object] = {}
        seen: set[FunctionType] = set()
        queue = [self._function]
        while queue:
            current = queue.pop()
            if current in seen:
                continue
            seen.add(current)
            for name in (*current.__code__.co_names, "triton"):  # triton stands in the decorator
                value = current.__globals__.get(name)
                if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] == "triton":
                    modules[name] = value.__name__
                callee = getattr(value, "fn", None)
                if not inspect.isfunction(callee) or callee.__module__.startswith("triton."):
                    if (plain := _value(value)) is not None:
                        values[name] = plain
                    continue
                if callee.__globals__ is current.__globals__:
                    queue.append(callee)
                elif callee.__module__ in sys.modules:
                    helpers[name] = (callee.__name__, inspect.getsource(sys.modules[callee.__module__]))
        return {"modules": modules, "helpers": helpers, "values": values}


def _value(value: Any) -> object:
    """A value of a kernel's module in the form of `extract`; None where there is no form for it."""
    kind = type(value).__name__
    plain: object
    if kind == "constexpr":
        inner = _value(value.value)
        plain = None if inner is None else {"constexpr": inner}
    elif kind == "dtype" and type(value).__module__.startswith("triton."):
        plain = {"dtype": value.name}
    elif isinstance(value, tuple):
        items = [_value(item) for item in value]
        plain = None if None in items else {"tuple": items}
    elif isinstance(value, bool | int | float | str):
        plain = value
    else:
        own = getattr(value, "fn", value)
        module, name = getattr(own, "__module__", None), getattr(own, "__name__", None)
        plain = {"import": module, "name": name} if isinstance(module, str) and module in MODULES else None
    return plain if KernelLaunch.is_value(plain) else None
