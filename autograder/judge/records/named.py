"""Says what a shell names: ``package.module:function`` or ``FILE.py:function``, imported into this process."""

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from difflib import get_close_matches
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from ...words import UsageError

_TARGET = re.compile(r"(?P<module>[^:]+):(?P<name>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*)")


def found(text: str, root: Path | None = None) -> Callable[..., Any]:
    """The function that ``text`` names, or the method as ``Class.method``. Imports its module, from the current folder
    as well. root: the folder where imports of its package begin. Raises UsageError.
    """
    function = named(text, root)
    if not callable(function):
        place, _, name = text.rpartition(":")
        raise UsageError(f"{name} of {place} is not a function but of type {type(function).__name__}")
    return function  # type: ignore[no-any-return]


def named(text: str, root: Path | None = None) -> Any:
    """Returns what ``text`` names, as `found` does, callable or not. Raises UsageError."""
    match = _TARGET.fullmatch(text)
    if match is None:
        raise UsageError(f"{text} does not name a function: write package.module:function, or FILE.py:function")
    place, name = match["module"], match["name"]
    module = _imported(place, root)
    try:
        return attrgetter(name)(module)
    except AttributeError:
        near = get_close_matches(name, [var for var in vars(module) if not var.startswith("_")])
        raise UsageError(f"{place} has no function {name}" + (f"; it has {', '.join(near)}" if near else "")) from None


def _imported(place: str, root: Path | None) -> Any:
    folder, name, path = str(root.resolve()) if root else os.getcwd(), place, None
    if place.endswith(".py"):
        path = Path(place).resolve()
        if not path.is_file():
            raise UsageError(f"there is no file {place}")
        if root and not path.is_relative_to(folder):
            raise UsageError(f"{place} is not in {root}, where imports of its package begin")
        folder = folder if root else str(path.parent)
        name = ".".join(path.relative_to(folder).with_suffix("").parts)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    cure = "" if root else "; --root names the folder where imports of your own package begin"
    try:
        module = _of_file(name, path) if path else importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            raise UsageError(
                f"there is no module {error.name}: install its package, or go to the folder that holds it"
            ) from None
        raise UsageError(f"importing {place} needs a module that is not installed: {error.name}{cure}") from None
    except Exception as error:
        hint = cure if isinstance(error, ImportError) else ""
        raise UsageError(f"importing {place} stopped with {type(error).__name__}: {error}{hint}") from None
    if path:
        _refuse_another_folders(module, place, Path(folder))
    return module


def _of_file(name: str, path: Path) -> ModuleType:
    """The module of that very file. Two folders may have files of one name, and a file the name of one of Python's
    modules: the second is known by its whole path.
    """
    spec = getattr(sys.modules[name], "__spec__", None) if name in sys.modules else importlib.util.find_spec(name)
    if spec is None or not spec.has_location or Path(spec.origin or "").resolve() != path:
        if str(path) in sys.modules:
            return sys.modules[str(path)]
        spec = importlib.util.spec_from_file_location(str(path), path)
        assert spec and spec.loader  # the name ends in .py
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[spec.name]  # as an import that stops does
            raise
        return module
    return importlib.import_module(name)


def _refuse_another_folders(module: ModuleType, place: str, folder: Path) -> None:
    """A process holds one module of a name: what two versions of a package import is that of the first. Raises
    UsageError.
    """
    for value in vars(module).values():
        of = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        known = sys.modules.get(of) if isinstance(of, str) else None
        file, imported = getattr(known, "__file__", None), folder.joinpath(*str(of).split(".")).with_suffix(".py")
        if file and imported.is_file() and not imported.samefile(file):
            raise UsageError(
                f"{place} imports {of}, which is {imported}, but {file} was imported under that name before: "
                "rename one of the two"
            )
