"""Says what the costs of a case depend on (`scoring`): the category that it is in, and how it fails."""

from enum import StrEnum


class Category(StrEnum):
    """PLAIN: ordinary values in any shape. POINT: what the exercise is about. DTYPES: half precision. LAYOUTS: how
    tensors lie in memory, and how much of it is used. EDGES: NaN and infinity, nothing at all, bad input.
    """

    PLAIN = "plain"
    POINT = "point"
    DTYPES = "dtypes"
    LAYOUTS = "layouts"
    EDGES = "edges"


class Flaw(StrEnum):
    """VALUES: wrong ones, or none: the answer raised, was refused or converted. SHIPPED: the same in a case of the
    point or of the edges that is there for a bug that shipped: who fails it has that bug, or does no better. FORM:
    right ones in a wrong dtype or shape, or the right refusal by an error of another type or with a wrong text. EFFECT:
    right ones with side effects, or that a GPU may not give. WHOLE: the answer is a stub, refused, no Python,
    or loads nothing once it is compiled.
    """

    VALUES = "values"
    SHIPPED = "shipped"
    FORM = "form"
    EFFECT = "side effect"
    WHOLE = "whole"
