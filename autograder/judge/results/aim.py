"""What a case is about. Points go to aims, not to cases: see `scoring`."""

from enum import StrEnum


class Aim(StrEnum):
    """PLAIN: ordinary values in any shape. POINT: what the exercise is about. DTYPES: half precision. LAYOUTS: how
    tensors lie in memory, and how much of it is used. EDGES: NaN and infinity, nothing at all, bad input.
    """

    PLAIN = "plain"
    POINT = "point"
    DTYPES = "dtypes"
    LAYOUTS = "layouts"
    EDGES = "edges"
