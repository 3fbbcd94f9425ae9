"""What a shell names: ``package.module:function`` or ``FILE.py:function``, imported into this process."""

import importlib
import os
import re
import sys
from collections.abc import Callable
from difflib import get_close_matches
from operator import attrgetter
from pathlib import Path
from typing import Any

from ..words import UsageError

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
    """What ``text`` names, as `found` does, callable or not. Raises UsageError."""
    match = _TARGET.fullmatch(text)
    if match is None:
        raise UsageError(f"{text} does not name a function: write package.module:function, or FILE.py:function")
    place, name = match["module"], match["name"]
    module = _imported(place, root)
    try:
        return attrgetter(name)(module)
    except AttributeError:
        near = get_close_matches(name, [one for one in vars(module) if not one.startswith("_")])
        raise UsageError(f"{place} has no function {name}" + (f"; it has {', '.join(near)}" if near else "")) from None


def _imported(place: str, root: Path | None) -> Any:
    folder, name = str(root.resolve()) if root else os.getcwd(), place
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
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            raise UsageError(
                f"there is no module {error.name}: install its package, or go to the folder that holds it"
            ) from None
        raise UsageError(f"importing {place} needs a module that is not installed: {error.name}{cure}") from None
    except Exception as error:
        hint = cure if isinstance(error, ImportError) else ""
        raise UsageError(f"importing {place} stopped with {type(error).__name__}: {error}{hint}") from None
