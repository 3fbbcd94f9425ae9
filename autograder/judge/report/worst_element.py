"""The worst element of a failing case in words: what went in, what came out, what is right and how far off it is."""

import math
from dataclasses import dataclass

import numpy as np

from ..results.case_result import Failure
from .distance import distance

SMALLEST_NORMAL = float(np.finfo(np.float32).smallest_normal)


@dataclass(frozen=True)
class WorstElement:
    """Holds an element in words. output: ``dx``. element: ``dx[31744]``. inputs: the values that went in there, ``dy =
    0.5, x = 0.0``, or "". actual, expected: its value and the right one. off_by: how far they lie apart.
    """

    output: str
    element: str
    inputs: str
    actual: str
    expected: str
    off_by: str

    @classmethod
    def of(cls, failure: Failure) -> "WorstElement":
        """The worst element of this failure."""
        inputs = ", ".join(f"{name} = {number(value)}" for name, value in failure.inputs.items())
        actual = _coded(failure.got, failure.codes and failure.codes[0])
        return cls(failure.output, element(failure), inputs, actual, expected(failure), off_by(failure))


def number(value: float) -> str:
    """The shortest decimal that reads back as this float32, or as this float64 where it is not a float32. A label is an
    integer, and an element of a mask True or False.
    """
    if isinstance(value, int):
        return str(value)
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if math.isfinite(value) and float(single) != value:
        return repr(float(value))
    if 0 < abs(single) < SMALLEST_NORMAL:
        return np.format_float_scientific(single, min_digits=1)
    return str(single)


def _coded(value: float, code: int | None) -> str:
    """The value after its byte where it is a float8: ``0x7E (448.0)``."""
    return number(value) if code is None else f"0x{code:02X} ({number(value)})"


def element(failure: Failure) -> str:
    """``dx[31744]``, or ``loss`` where the output is a scalar."""
    return f"{failure.output}[{', '.join(map(str, failure.index))}]" if failure.index else failure.output


def expected(failure: Failure) -> str:
    """The right value of the worst element, after its byte where it is a float8; 0 where -0 came about and the sign of
    a zero does not count.
    """
    plain = failure.expected == 0 and failure.got != 0 and isinstance(failure.expected, float)
    return _coded(0.0 if plain else failure.expected, failure.codes and failure.codes[1])


def off_by(failure: Failure) -> str:
    """Returns how far off the worst element is, or which kind of value stands where another belongs."""
    got, expected = kind(failure.got), kind(failure.expected)
    if got != expected:
        return f"{got} where {expected} belongs"
    if failure.codes and failure.got == failure.expected == 0:
        return f"0x{failure.codes[0]:02X} where 0x{failure.codes[1]:02X} belongs"
    if failure.expected == 0 and failure.allowed * failure.step < SMALLEST_NORMAL:
        return f"{number(failure.got)}, where 0 belongs"
    allowed = 0.0 if failure.codes and failure.allowed < 1 else failure.allowed  # no other float8 lies within
    return distance(failure.ulp, allowed, failure.step, whole=isinstance(failure.got, int))


def kind(value: float) -> str:
    """Returns ``NaN``, ``infinity``, ``-infinity``, ``True``, ``False`` or ``a number``."""
    if isinstance(value, bool):
        return str(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    return "a number"
