"""Python's own functions in a kernel: what the compiler makes of a call, and what it does not know."""

import builtins
from collections.abc import Callable
from typing import Any, NoReturn

import triton.language as tl
from triton.compiler.code_generator import CodeGenerator

from .advice import instead
from .refused import refuse

# Python's functions that the compiler calls on constants; `print`, `min`, `max` and `range` are of its own.
PYTHONS = CodeGenerator.builtin_namespace.keys() - {"print", "min", "max", "range"}
_UNKNOWN = {name for name, value in vars(builtins).items() if callable(value)} - CodeGenerator.builtin_namespace.keys()


def called(function: Callable[..., object], *values: Any, **named: Any) -> object:
    """Returns what one of Python's functions that the compiler knows returns: it sees what a `tl.constexpr` holds, and
    no tensor's value.
    """
    if function in (float, int) and values and isinstance(values[0], tl.tensor):
        name = getattr(function, "__name__", "")
        refuse(
            f"`{name}` takes a number that is known when the kernel is compiled, and this one is known when it runs; "
            f"convert it with `.to(tl.{name}32)`, or declare the parameter `tl.constexpr`."
        )
    if function not in CodeGenerator.builtin_namespace.values():  # another one, of the same name
        return function(*values, **named)
    return function(*(value.value if isinstance(value, tl.constexpr) else value for value in values), **named)


def content(value: object) -> object:
    """``value.value``: what a `tl.constexpr` holds, and a constant itself."""
    return value if value is None or isinstance(value, bool | int | float | str) else value.value  # type: ignore[attr-defined]


def type_of(value: Any) -> object:
    """``value.type``, which a `tl.constexpr` has, too: its own for each constant."""
    plain = value is None or isinstance(value, bool | int | float | str | tl.dtype)
    return tl.constexpr_type(value) if plain else value.type


def unknown(names: set[str]) -> dict[str, Callable[..., NoReturn]]:
    """Functions that refuse, by name, for those of ``names`` that are functions of Python's which the compiler does
    not know.
    """
    return {name: _refused(name) for name in sorted(names & _UNKNOWN)}


def _refused(name: str) -> Callable[..., NoReturn]:
    def refused(*_args: object, **_named: object) -> NoReturn:
        do = instead(name) or "Use the functions of `tl`."
        refuse(f"Triton does not know Python's `{name}`. {do}")

    return refused
