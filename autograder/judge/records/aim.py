"""What points depend on (`scoring`): what a case is about, for they go to aims and not to cases, and how it fails."""

from enum import StrEnum

ONE, EACH = "one factor", "a factor of each call"  # that results may be right up to: one of all calls, or of this alone


class Aim(StrEnum):
    """PLAIN: ordinary values in any shape. POINT: what the exercise is about. DTYPES: half precision. LAYOUTS: how
    tensors lie in memory, and how much of it is used. EDGES: NaN and infinity, nothing at all, bad input.
    """

    PLAIN = "plain"
    POINT = "point"
    DTYPES = "dtypes"
    LAYOUTS = "layouts"
    EDGES = "edges"


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
