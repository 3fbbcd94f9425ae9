"""Kernels from their text: what a module of nothing else binds. Imports the standard library and Triton only."""

import __future__

import ast
from collections.abc import Callable, Mapping
from typing import Any

from .kernel_launch import Json
from .name_check import Constants, Opaque, Refusal, check_names, imported

Helper = Callable[[Json, str], Any]  # the function of this name in the extract of another module


def bound(extract: Json, text: str, file: str, builtins: Mapping[str, Any], helper: Helper) -> dict[str, Any]:
    """The names of the module: the values of ``extract``, the content of an `extract.Extract`, and its functions, which
    ``text`` defines.

    file: what the lines of the text are found by. builtins: what of Python the functions can call. Raises Refusal for a
    name that no kernel may use.
    """
    names: dict[str, Any] = {"__builtins__": dict(builtins), "__name__": "kernels"}
    for name, value in extract["values"].items():
        names[name] = decode(value, names, helper)
    for name, function in extract["functions"].items():
        check_names(name, ast.parse(function["text"]), names)
    # Annotations stay text: nothing but constants is evaluated when the functions are made.
    exec(compile(text, file, "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True), names)
    return names


def decode(value: Any, names: Mapping[str, Any], helper: Helper) -> Any:
    """Returns the value that `extract` wrote as JSON. names: of the module, which functions are found in. Raises
    Refusal.
    """
    if not isinstance(value, dict):
        return value
    import triton.language as tl

    if "constexpr" in value:
        return tl.constexpr(decode(value["constexpr"], names, helper))
    if "tuple" in value:
        return tuple(decode(item, names, helper) for item in value["tuple"])
    if "dtype" in value:
        return tl.dtype(value["dtype"])
    if "of" in value:
        return helper(value["of"], value["function"])
    if "function" in value:
        return names[value["function"]]
    if "floats" in value:
        module = Constants("floats")
        vars(module).update(value["floats"])
        return module
    if "any" in value:
        return _first(value["any"], names, helper)
    return imported(value["import"], value.get("name")) if "import" in value else Opaque()


def _first(choices: list[Any], names: Mapping[str, Any], helper: Helper) -> Any:
    """The first of the choices that can be imported, as in a ``try`` with an ``except ImportError``."""
    value = refusal = None
    for choice in choices:
        try:
            value = decode(choice, names, helper)
        except Refusal as reason:
            refusal = refusal or reason
            continue
        if not isinstance(value, Opaque):
            return value
    if refusal and value is None:
        raise refusal
    return value
