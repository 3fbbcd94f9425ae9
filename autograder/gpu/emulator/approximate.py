"""Approximate functions of CUDA and PTX, as far off as their manuals let them be.

An answer that is right on every GPU is right with these, too. The sign of an element's error follows the bits of its
argument. Sources: CUDA C++ programming guide, Mathematical Functions, table "Single-Precision Floating-Point Intrinsic
Functions" (``__expf`` and its like); PTX ISA 9.1, 9.7.3.13 to 9.7.3.22, `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `lg2`,
`ex2`, `tanh` with ``.approx``.
"""

from collections.abc import Callable

import numpy as np

_Approximation = Callable[..., np.ndarray]
_Error = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of an argument and the exact result, the largest error


def ulp(count: float, slope: float = 0.0) -> _Error:
    """So many float32 ulp of the result, and ``slope`` · abs(x) more, rounded down."""
    return lambda x, exact: (count + np.floor(slope * np.abs(x))) * np.spacing(np.abs(exact).astype(np.float32))


def relative(bits: float) -> _Error:
    """2^-bits of the result."""
    return lambda x, exact: 2.0**-bits * np.abs(exact)


def absolute(bits: float, within: float) -> _Error:
    """2^-bits for abs(x) up to ``within``; beyond, where no manual says it, growing with abs(x)."""
    return lambda x, exact: 2.0**-bits * np.maximum(1, np.abs(x) / within)


def of_angle(x: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """2^-20.5 for an angle of up to one turn and 2^-14.7 for up to fifty; beyond, where PTX guarantees nothing, growing
    with abs(x).
    """
    return np.where(np.abs(x) <= 2 * np.pi, 2.0**-20.5, absolute(14.7, 100 * np.pi)(x, exact))


def near_one(bits: float, elsewhere: _Error) -> _Error:
    """2^-bits for x from 0.5 to 2, as of logarithms, whose result is small there."""
    return lambda x, exact: np.where((x >= 0.5) & (x <= 2), 2.0**-bits, elsewhere(x, exact))


def off(exact: _Approximation, error: _Error) -> _Approximation:
    """``exact``, in float64, with the largest error on one side or the other; results that are 0, infinite, NaN or
    exact at x = 0 stay.
    """

    def approximate(x: np.ndarray) -> np.ndarray:
        wide = np.asarray(x, dtype=np.float64)
        result = np.asarray(exact(wide))
        moves = np.isfinite(result) & (result != 0) & (wide != 0)
        with np.errstate(all="ignore"):
            moved = result + _sign(wide) * np.where(moves, error(wide, result), 0.0)
        return np.where(moves, moved, result)

    return approximate


def _sign(x: np.ndarray) -> np.ndarray:
    return np.where(x.astype(np.float32).view(np.uint32) & 1, -1.0, 1.0)


def divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """``__fdividef``: up to 2 ulp off, and 0 for a divisor above 2^126."""
    x, y = (np.asarray(number, dtype=np.float64) for number in (x, y))
    quotient = off(lambda x: x / y, ulp(2))(x)
    large = (np.abs(y) > 2.0**126) & (np.abs(y) < 2.0**128)
    return np.where(large, np.where(np.isinf(x), np.nan, 0.0 * x / y), quotient)


LOG2 = off(np.log2, near_one(22, ulp(2)))
SIN, COS = off(np.sin, absolute(21.41, np.pi)), off(np.cos, absolute(21.19, np.pi))
FAST: dict[str, _Approximation] = {
    "exp": off(np.exp, ulp(2, 1.173)),
    "exp10": off(lambda x: np.power(10.0, x), ulp(2, 2.97)),
    "log": off(np.log, near_one(21.41, ulp(3))),
    "log2": LOG2,
    "log10": off(np.log10, near_one(24, ulp(3))),
    "sin": SIN,
    "cos": COS,
    "tan": lambda x: SIN(x) / COS(x),
    "tanh": off(np.tanh, relative(11)),
    "pow": lambda x, y: np.exp2(y * LOG2(x)),
    "fdivide": divide,
}
FLUSHING = ("ex2", "lg2", "rcp", "sqrt", "rsqrt", "sin", "cos")  # that have a form with .ftz
PTX: dict[str, _Approximation] = {
    "ex2": off(np.exp2, ulp(2)),
    "lg2": off(np.log2, near_one(22, relative(22))),
    "rcp": off(np.reciprocal, ulp(1)),
    "sqrt": off(np.sqrt, relative(23)),
    "rsqrt": off(lambda x: 1 / np.sqrt(x), relative(22.9)),
    "sin": off(np.sin, of_angle),
    "cos": off(np.cos, of_angle),
    "tanh": off(np.tanh, relative(11)),
}
