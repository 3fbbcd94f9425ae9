"""Bessel functions of integer order in float64, an element at a time: libdevice's, which neither NumPy nor `math` has.

For x >= 25 those of order 0 and 1 are Hankel's expansions; below, J_0, J_1, J_2, ... are found downwards from an order
at which they are 0 (Miller), and Y_0 and Y_1 are Neumann's series of them. f_{n+1} = 2n/x f_n - f_{n-1} leads to the
others: upwards for Y, and for J up to order x, behind which that would lose all digits.
"""

import math
from collections.abc import Callable

import numpy as np

_LARGE = 25.0  # from here on Hankel's smallest term is below 1e-16
_EULER = 0.5772156649015329


def i0(x: float) -> float:
    """The modified I_0."""
    return _modified(0, x)


def i1(x: float) -> float:
    """The modified I_1."""
    return _modified(1, x)


def j(n: int, x: float) -> float:
    """J_n(x); NaN where n < 0."""
    if n < 0 or math.isnan(x):
        return math.nan
    if math.isinf(x) or x == 0:
        return float(n == 0 and x == 0)
    sign, at = (-1.0 if x < 0 and n % 2 else 1.0), abs(x)
    if n > at or at < _LARGE:
        return sign * _downwards(n, at)[n]
    return sign * _upwards(n, at, *(_hankel(order, at)[0] for order in (0, 1)))


def y(n: int, x: float) -> float:
    """Y_n(x); -inf at 0, NaN where x < 0 or n < 0."""
    if n < 0 or x < 0 or math.isnan(x):
        return math.nan
    if x == 0 or math.isinf(x):
        return 0.0 if x else -math.inf
    return _upwards(n, x, *([_hankel(order, x)[1] for order in (0, 1)] if x >= _LARGE else _neumann(x)))


def of_order(n: int, function: Callable[[int, float], float]) -> Callable[[float], float]:
    """J_n or Y_n as a function of x alone."""
    return lambda x: function(n, x)


def each(function: Callable[[int, float], float]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """J or Y of arrays of orders and of x."""
    elementwise = np.frompyfunc(lambda n, x: function(int(n), float(x)), 2, 1)
    return lambda n, x: np.asarray(elementwise(n, x)).astype(np.float64)


def _modified(n: int, x: float) -> float:
    """Its power series, the terms of which are of one sign; it overflows where the value does."""
    if not math.isfinite(x) or abs(x) > 720:
        return (
            abs(x) * (1 if n == 0 else math.copysign(1, x)) if math.isnan(x) else math.copysign(math.inf, x if n else 1)
        )
    term = total = (x / 2) ** n
    order = 0
    while abs(term) > 1e-17 * abs(total):
        order += 1
        term *= x * x / 4 / (order * (order + n))
        total += term
    return total


def _upwards(n: int, x: float, first: float, second: float) -> float:
    for order in range(1, n):
        first, second = second, 2 * order / x * second - first
    return second if n else first


def _downwards(n: int, x: float) -> list[float]:
    """J_0(x), J_1(x), ... to behind J_n(x), for x > 0. J_0 + 2 J_2 + 2 J_4 + ... = 1 gives their factor."""
    begin = 2 * ((int(max(n, x) + math.sqrt(100 * max(n, x))) + 20) // 2)
    values = [0.0] * (begin + 2)
    values[begin] = 1e-300
    for order in range(begin, 0, -1):
        values[order - 1] = 2 * order / x * values[order] - values[order + 1]
        if abs(values[order - 1]) > 1e250:
            values = [value * 1e-250 for value in values]
    whole = values[0] + 2 * math.fsum(values[2::2])
    return [value / whole for value in values]


def _neumann(x: float) -> tuple[float, float]:
    """Y_0(x) and Y_1(x)."""
    bessel, log = _downwards(0, x), math.log(x / 2) + _EULER
    orders = range(1, len(bessel) // 2 - 1)
    zero = log * bessel[0] - 2 * math.fsum((-1) ** k * bessel[2 * k] / k for k in orders)
    slopes = ((-1) ** k / k * (bessel[2 * k - 1] - bessel[2 * k + 1]) for k in orders)  # Y_1 is the negative derivative
    first = log * bessel[1] - bessel[0] / x + math.fsum(slopes)
    return 2 / math.pi * zero, 2 / math.pi * first


def _hankel(n: int, x: float) -> tuple[float, float]:
    """J_n(x) and Y_n(x), n 0 or 1, for large x."""
    parts, term, k = [1.0, 0.0], 1.0, 0
    while abs(term) > 1e-18 and k < 60:
        k += 1
        term *= (4 * n * n - (2 * k - 1) ** 2) / (8 * k * x)
        parts[k % 2] += term * (-1) ** (k // 2)
    angle, root = x - (n / 2 + 0.25) * math.pi, math.sqrt(2 / (math.pi * x))
    cos, sin = math.cos(angle), math.sin(angle)
    return root * (parts[0] * cos - parts[1] * sin), root * (parts[0] * sin + parts[1] * cos)
