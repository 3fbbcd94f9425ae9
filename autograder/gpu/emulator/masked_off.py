"""Says what the masked-off lanes of a load without ``other`` hold: poison, or a number that a run is tried with."""

import math

import numpy as np
import triton.language as tl

from . import arithmetic, float8, poison

_LARGE = 10_000


def poisoned(dtype: tl.dtype, storage: np.dtype) -> np.ndarray:
    """One poisoned value of a Triton type, as an array of one element of the interpreter's numpy type."""
    if storage.kind == "b":
        return np.array([True])
    return poison.word("b" if dtype == tl.bfloat16 else storage.kind, storage.itemsize).view(storage)


def constant(value: float, dtype: tl.dtype, storage: np.dtype) -> np.ndarray:
    """``value`` of a Triton type, as an array of one element of the interpreter's numpy type: of an integer type that
    it does not fit, the nearest, and 10,000 or -10,000 for what is not finite: it may be how often a loop runs.
    """
    if dtype == tl.bfloat16:
        return arithmetic.to_bf16(np.array([value], dtype=np.float32))
    if dtype in float8.FORMATS:
        return float8.from_floats(np.array([value], dtype=np.float32), dtype)
    if storage.kind in "iu":
        value = value if math.isfinite(value) else -_LARGE if value < 0 else _LARGE
        value = min(max(int(value), np.iinfo(storage).min), np.iinfo(storage).max)
    return np.array([value]).astype(storage)
