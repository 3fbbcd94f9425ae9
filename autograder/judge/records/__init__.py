"""The vocabulary of records: what an exercise is, its inputs, how close is right; and the table of those there are.

EXERCISES, find, offered        of the `table`, imported when one is asked for, and PyTorch with it
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .table import EXERCISES, find, offered

__all__ = ["EXERCISES", "find", "offered"]


def __getattr__(name: str) -> Any:
    """A list of a class's notebooks needs names alone, and PyTorch takes seconds."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(".table", __name__), name)
