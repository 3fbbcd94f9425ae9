"""The vocabulary of records: what an exercise is, its inputs, how close is right; and the table of those there are.

EXERCISES, find, offered        of the `table`, imported when one is asked for, and PyTorch with it
"""

from typing import TYPE_CHECKING

from ...words import lazy_api

if TYPE_CHECKING:
    from .table import EXERCISES, find, offered

__all__ = ["EXERCISES", "find", "offered"]

# A list of the notebooks of a class needs names alone, and PyTorch takes seconds.
__getattr__ = lazy_api(__name__, __file__)
