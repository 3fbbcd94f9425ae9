"""The exercises: a file for each case, with its records, and the table of them all.

EXERCISES, find, offered        the `table`, imported when it is asked for, and PyTorch with it
FORMER_NAMES, present_name, names_of        what exercises are and were called
"""

import importlib
from typing import TYPE_CHECKING, Any

from .names import FORMER_NAMES, names_of, present_name

if TYPE_CHECKING:
    from .table import EXERCISES, find, offered

__all__ = ["EXERCISES", "FORMER_NAMES", "find", "names_of", "offered", "present_name"]


def __getattr__(name: str) -> Any:
    """A list of a class's notebooks needs names alone, and PyTorch takes seconds."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(".table", __name__), name)
