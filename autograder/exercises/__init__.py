"""The exercises: a file for each case, with its records, and the table of them all.

EXERCISES, find, offered        the `table`, imported when it is asked for, and PyTorch with it
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..judge.records.table import EXERCISES, find, offered

__all__ = ["EXERCISES", "find", "offered"]


def __getattr__(name: str) -> Any:
    """A list of a class's notebooks needs names alone, and PyTorch takes seconds."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(".table", __name__), name)
