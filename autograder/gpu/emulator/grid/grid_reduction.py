"""Reductions and scans of many programs: a block's axes begin behind the programs'."""

import numpy as np
from triton.runtime import interpreter

from ..reduction import StrictReduce, StrictScan
from .fallback import Fallback


class _Together:
    """programs: the axis in front. What is to be reported, one program at a time tells."""

    programs = 1

    def _of_live(self, differ: np.ndarray) -> np.ndarray:
        live: np.ndarray = interpreter.interpreter_builder.programs.only_live(differ)
        return live

    def _report(self, name: str, values: tuple[str, str]) -> None:
        raise Fallback("a combining function that is not associative")


class GridReduce(_Together, StrictReduce):
    """`tl.reduce` for many programs."""


class GridScan(_Together, StrictScan):
    """`tl.associative_scan` for many programs."""
