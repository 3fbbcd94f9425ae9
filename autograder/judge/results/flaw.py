"""How a case fails, as far as points depend on it."""

from enum import StrEnum


class Flaw(StrEnum):
    """NUMBERS: a call with finite numbers gives wrong ones, or none. SPECIAL: a call with NaN or infinity does, or one
    with nothing in it, or bad input. FORM: right numbers in a wrong dtype or shape, or the right refusal by an error of
    another type. CONVERTED: no result, for PyTorch was to
    convert one where a kernel was asked for. TEXT: the right error with a wrong text. CONDUCT: a right result that came
    about in a wrong way, or that a GPU may not give. WHOLE: the answer is a stub, refused, or no Python.
    """

    NUMBERS = "numbers"
    SPECIAL = "special"
    FORM = "form"
    CONVERTED = "converted"
    TEXT = "text"
    CONDUCT = "conduct"
    WHOLE = "whole"
