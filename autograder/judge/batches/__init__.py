"""Batch invariance and causality: does a row's result depend on the rows beside it, or the past on the future?

neighbours(function, arguments, batch)     a `Neighbours`, which is true where it does
Neighbours                                 what differs, in which call, by how much

One idea: the function is called on a batch and on other batches of the same rows, and each row's bits are compared; and
on sequences with the same past, of which the past's bits are.
"""

from typing import TYPE_CHECKING

from ...words import lazy_api

if TYPE_CHECKING:
    from .batch_invariance import neighbours
    from .dependence import Neighbours

__all__ = ["Neighbours", "neighbours"]

__getattr__ = lazy_api(__name__, __file__)  # the parser needs neither, and PyTorch takes seconds
