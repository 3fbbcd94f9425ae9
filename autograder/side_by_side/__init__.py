"""Side by side: any function judged by its reference, without a record.

compare(reference, candidate, arguments)   a `Report`, as `check` returns one
inputs(reference, arguments, family)       what a family of it calls the candidate with, to repeat a failure
CompareError                               why reference, candidate or arguments cannot be compared, in a sentence

The reference in float64 says what is right, its own arithmetic how close is right (`exercises.derived`), and families
of inputs are made from the example arguments. All of it becomes an `Exercise`, which is judged like any other.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparison import compare, inputs
    from .errors import CompareError

__all__ = ["CompareError", "compare", "inputs"]


def __getattr__(name: str) -> Any:
    """The command line's parser needs none of them, and PyTorch takes seconds."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(".errors" if name == "CompareError" else ".comparison", __name__), name)
