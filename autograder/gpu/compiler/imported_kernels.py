"""Kernels that the modules of a package import of one another, read from their texts. Nothing is executed."""

import ast
from collections.abc import Callable, Mapping

from .bindings import BoundNames, Import, bindings

_DEEP = 8  # modules that hand a name on


def imported_kernels(
    texts: Mapping[str, str], origin: Callable[[ast.ImportFrom, str], str | None]
) -> dict[str, tuple[str, str]]:
    """Returns what modules import of one another: name -> (the function's own name, the text that defines it).

    texts: of modules, by name. origin: which of them a statement of a module imports from; None for another one.
    """
    return _Modules(texts, origin).imported()


class _Modules:
    def __init__(self, texts: Mapping[str, str], origin: Callable[[ast.ImportFrom, str], str | None]):
        self._texts, self._origin = texts, origin
        self._bound = {name: _bindings(text) for name, text in texts.items()}

    def imported(self) -> dict[str, tuple[str, str]]:
        places = {}
        for module, names in self._bound.items():
            for name, bound in names.items():
                if isinstance(bound[0], Import) and (place := self._definition(module, name, _DEEP)):
                    places[name] = place
        return places

    def _definition(self, module: str, name: str, depth: int) -> tuple[str, str] | None:
        bound = self._bound[module].get(name, [None])[0]
        if isinstance(bound, ast.FunctionDef):
            return (name, self._texts[module]) if bound.decorator_list else None
        if not isinstance(bound, Import) or bound.name is None or not depth:
            return None
        path = bound.module.lstrip(".")
        origin = self._origin(ast.ImportFrom(path or None, [], len(bound.module) - len(path)), module)
        return self._definition(origin, bound.name, depth - 1) if origin is not None else None


def _bindings(text: str) -> BoundNames:
    """Returns what the top level of ``text`` binds; nothing where it is not Python."""
    try:
        return bindings(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return {}
