"""How a case fails, as far as points depend on it."""

from enum import StrEnum


class Flaw(StrEnum):
    """NUMBERS: a call with finite numbers gives wrong ones, or none. SPECIAL: a call with NaN or infinity does, or one
    with nothing in it, or bad input. DTYPE: right numbers in a wrong dtype. CONVERTED: no result, for PyTorch was to
    convert one where a kernel was asked for. TEXT: the right error with a wrong text. CONDUCT: a right result that came
    about in a wrong way, or that a GPU may not give. WHOLE: the answer is a stub, refused, or no Python.
    """

    NUMBERS = "numbers"
    SPECIAL = "special"
    DTYPE = "dtype"
    CONVERTED = "converted"
    TEXT = "text"
    CONDUCT = "conduct"
    WHOLE = "whole"
