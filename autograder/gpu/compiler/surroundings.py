"""Says what stands around a function of this process: its text, and what it uses by name."""

import contextlib
import inspect
import linecache
import sys
import textwrap
import types
from collections.abc import Iterator
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
        names = dict.fromkeys(function.__code__.co_filename for function in self._functions())
        return ["".join(linecache.getlines(name)) for name in names]

    def inner_texts(self) -> list[str]:
        """The functions among these that stand inside another one, each as a text that has it at the top level, in the
        line that it has in its file. Raises TypeError where a name would mean something else there.
        """
        functions = self._functions()
        inner = [function for function in functions if "<locals>" in function.__qualname__]
        if inner:
            _check_meanings(functions)
        texts = []
        for helper in inner:
            with contextlib.suppress(OSError):  # there is no source
                texts.append("\n" * (helper.__code__.co_firstlineno - 1) + textwrap.dedent(inspect.getsource(helper)))
        return texts

    def places(self) -> dict[str, tuple[str, int]]:
        """The file of each of these functions that has source, and the line of its ``def``."""
        places = {}
        for function in self._functions():
            with contextlib.suppress(OSError):
                lines, first = inspect.getsourcelines(function)
                before = next((number for number, line in enumerate(lines) if line.strip().startswith("def ")), 0)
                places[function.__name__] = function.__code__.co_filename, first + before
        return places

    def _functions(self) -> list[FunctionType]:
        """The function and the kernels that it and these name, of its own module."""
        queue, seen = [self._function], dict[FunctionType, None]()
        while queue:
            current = queue.pop()
            if current in seen:
                continue
            seen[current] = None
            callees = (getattr(value, "fn", None) for _, value in _named_by(current))
            queue += [c for c in callees if inspect.isfunction(c) and c.__globals__ is current.__globals__]
        return [*seen]

    def names(self) -> dict[str, dict[str, Any]]:
        """Returns what a kernel and what it calls use by name, for `KernelLaunch`: ``modules`` of Triton's,
        ``helpers``, the jit functions of other modules, and ``values``, what other names of its own module stand for.
        """
        modules: dict[str, str] = {}
        values: dict[str, object] = {}
        for current in self._functions():
            for name, value in _named_by(current):
                if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] == "triton":
                    modules[name] = value.__name__
                elif _helper(value) is None and (plain := _value(value)) is not None:
                    values[name] = plain
        return {"modules": modules, "helpers": self._helpers(), "values": values}

    def _helpers(self) -> dict[str, tuple[str, str]]:
        """The jit functions of other modules that these use, and that those use in turn. A name that stands for two of
        them is left out.
        """
        queue, callees_by_name = [self._function], dict[str, set[FunctionType]]()
        while queue:
            for current in Surroundings(queue.pop())._functions():
                for name, value in _named_by(current):
                    callee = _helper(value)
                    if callee and callee.__globals__ is not current.__globals__ and callee.__module__ in sys.modules:
                        if callee not in callees_by_name.setdefault(name, set()):
                            queue.append(callee)
                        callees_by_name[name].add(callee)
        alone = {name: next(iter(callees)) for name, callees in callees_by_name.items() if len(callees) == 1}
        return {
            name: (callee.__name__, inspect.getsource(sys.modules[callee.__module__])) for name, callee in alone.items()
        }


def _named_by(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The names that a function uses of its module and of the functions around it, and what they stand for."""
    around = function.__code__.co_freevars  # among the names are attributes, of which one may be called the same
    for name in (*function.__code__.co_names, "triton"):  # triton stands in the decorator
        if name not in around:
            yield name, function.__globals__.get(name)
    for name, cell in zip(around, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # nothing is bound to it yet
            yield name, cell.cell_contents


def _helper(value: Any) -> FunctionType | None:
    """The function of a kernel that is not Triton's own; None of anything else."""
    function = getattr(value, "fn", None)
    return function if isinstance(function, FunctionType) and not function.__module__.startswith("triton.") else None


def _check_meanings(functions: list[FunctionType]) -> None:
    """Raises TypeError where a name stands for two things in these functions, or for something of a function around
    one that cannot be described.
    """
    meant: dict[str, Any] = {function.__name__: function for function in reversed(functions)}
    if len(meant) < len(functions):
        raise TypeError(f"{functions[0].__name__} calls two functions of one name")
    for function in functions:
        for name, value in _named_by(function):
            thing = getattr(value, "fn", value)
            if value is not None and meant.setdefault(name, thing) is not thing:
                raise TypeError(f"{name} stands for two things in {functions[0].__name__} and what it calls")
            if any(thing is function for function in functions):
                known = thing.__name__ == name
            else:
                known = isinstance(thing, types.ModuleType) or _value(value) is not None
            if name in function.__code__.co_freevars and not known:
                raise TypeError(f"{name}, of the function around {function.__name__}, cannot be described")


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
        thing = getattr(value, "fn", value)
        module, name = getattr(thing, "__module__", None), getattr(thing, "__name__", None)
        plain = {"import": module, "name": name} if isinstance(module, str) and module in MODULES else None
    return plain if KernelLaunch.is_value(plain) else None
