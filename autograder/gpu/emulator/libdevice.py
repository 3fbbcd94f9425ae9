"""The elementwise functions of CUDA's libdevice, computed in float64 and rounded once to the result's type.

libdevice documents at most a few ulp for each of them; the emulator's result is the one in the middle. Those that are
called fast are as far off as is documented (`approximate`).
"""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from . import approximate, arithmetic, bessel
from .findings import EmulatorError, Finding, current_place

_ROOT_PI, _ROOT_2 = math.sqrt(math.pi), math.sqrt(2)
_NORMAL = NormalDist()


def _each(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """Returns what a function of numbers returns for each element, as Python objects."""
    values: np.ndarray = np.frompyfunc(function, len(arrays), 1)(*arrays)
    return values


def _scalar(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of one float on arrays, at Python's speed. numpy has no erf."""
    return lambda x: _each(function, x).astype(np.float64)


def _gamma(x: float) -> float:
    try:
        return math.gamma(x)
    except ValueError:
        return math.copysign(math.inf, x) if x == 0 else math.nan
    except OverflowError:
        return math.inf


def _lgamma(x: float) -> float:
    return math.inf if x <= 0 and (x == math.floor(x)) else math.lgamma(x)


def _erfcx(x: float) -> float:
    """exp(x^2) erfc(x)."""
    if x < -26.7:
        return math.inf
    if x < 26:
        return math.exp(x * x) * math.erfc(x)
    square = 1 / (x * x) if math.isfinite(x) else 0.0 * x
    return (1 - square / 2 * (1 - 1.5 * square * (1 - 2.5 * square))) / (x * _ROOT_PI) if math.isfinite(x) else 0.0


def _normcdfinv(p: float) -> float:
    if 0 < p < 1:
        return _NORMAL.inv_cdf(p)
    return math.nan if p not in (0.0, 1.0) else math.copysign(math.inf, p - 0.5)


def _erfcinv(y: float) -> float:
    return _erfinv(1 - y) if 0.5 < y < 1.5 else -_normcdfinv(y / 2) / _ROOT_2


def _erfinv(y: float) -> float:
    if abs(y) >= 0.5:
        return math.copysign(_normcdfinv((1 - abs(y)) / 2) / _ROOT_2, y) if abs(y) <= 1 else math.nan
    x = y * _ROOT_PI / 2
    for _ in range(6 if x else 0):  # Newton: the derivative of erf is 2 / sqrt(pi) exp(-x^2)
        x -= (math.erf(x) - y) * _ROOT_PI / 2 * math.exp(x * x)
    return x


def rsqrt(x: np.ndarray) -> np.ndarray:
    """1 / sqrt(x)."""
    root: np.ndarray = np.sqrt(x)
    return 1 / root


def _round_away(x: np.ndarray) -> np.ndarray:
    rounded: np.ndarray = np.copysign(np.floor(np.abs(x) + 0.5), x)
    return rounded


def _as(dtype: str) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.ascontiguousarray(x).view(dtype)


def _bits(count: Callable[[int, int], int]) -> Callable[[np.ndarray], np.ndarray]:
    def counted(x: np.ndarray) -> np.ndarray:
        width = 8 * x.itemsize
        return _each(lambda v: count(int(v), width), x.view(f"u{x.itemsize}")).astype(np.int32)

    return counted


def _remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    def remainder(a: float, b: float) -> float:
        return math.nan if math.isinf(a) or b == 0 else math.remainder(a, b)

    return _each(remainder, x, y).astype(np.float64)


erf = _scalar(math.erf)

_Function = Callable[..., np.ndarray]

_FLOAT: dict[str, _Function] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "cyl_bessel_i0": _scalar(bessel.i0),
    "cyl_bessel_i1": _scalar(bessel.i1),
    "cospi": lambda x: np.cos(np.pi * np.fmod(x, 2)),
    "erf": erf,
    "erfc": _scalar(math.erfc),
    "erfcinv": _scalar(_erfcinv),
    "erfcx": _scalar(_erfcx),
    "erfinv": _scalar(_erfinv),
    "exp": np.exp,
    "exp10": lambda x: np.power(10.0, x),
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fabs": np.abs,
    "fadd_rn": np.add,
    "fdim": lambda x, y: np.maximum(x - y, 0),
    "fdiv_rn": np.divide,
    "floor": np.floor,
    "fmod": np.fmod,
    "fmul_rn": np.multiply,
    "frcp_rn": lambda x: 1 / x,
    "frsqrt_rn": rsqrt,
    "fsqrt_rn": np.sqrt,
    "fsub_rn": np.subtract,
    "hypot": np.hypot,
    "j0": _scalar(bessel.of_order(0, bessel.j)),
    "j1": _scalar(bessel.of_order(1, bessel.j)),
    "lgamma": _scalar(_lgamma),
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "logb": lambda x: np.where(x == 0, -np.inf, np.where(np.isfinite(x), np.frexp(x)[1] - 1.0, np.abs(x))),
    "nearbyint": np.rint,
    "normcdf": lambda x: 0.5 * _FLOAT["erfc"](-x / _ROOT_2),
    "normcdfinv": _scalar(_normcdfinv),
    "pow": np.power,
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "remainder": _remainder,
    "rhypot": lambda x, y: 1 / np.hypot(x, y),
    "rint": np.rint,
    "round": _round_away,
    "rsqrt": rsqrt,
    "saturate": lambda x: np.where(np.isnan(x), 0, np.clip(x, 0, 1)),
    "sin": np.sin,
    "sinh": np.sinh,
    "sinpi": lambda x: np.sin(np.pi * np.fmod(x, 2)),
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "tgamma": _scalar(_gamma),
    "trunc": np.trunc,
    "y0": _scalar(bessel.of_order(0, bessel.y)),
    "y1": _scalar(bessel.of_order(1, bessel.y)),
}
for _name in ("add", "div", "mul", "sub", "rcp", "sqrt"):
    _FLOAT[f"d{_name}_rn"] = _FLOAT[f"f{_name}_rn"]
for _name in ("3d", "4d"):
    _FLOAT[f"norm{_name}"] = lambda *x: np.linalg.norm(x, axis=0)
    _FLOAT[f"rnorm{_name}"] = lambda *x: 1 / np.linalg.norm(x, axis=0)
_FLOAT |= {f"fast_{_name}": _function for _name, _function in approximate.FAST.items()}

# Functions that take or return integers see their arguments as they are.
_RAW: dict[str, _Function] = {
    "abs": np.abs,
    "llabs": np.abs,
    "clz": _bits(lambda v, width: width - v.bit_length()),
    "popc": _bits(lambda v, _: v.bit_count()),
    "ffs": _bits(lambda v, _: (v & -v).bit_length()),
    "float_as_int": _as("i4"),
    "float_as_uint": _as("u4"),
    "int_as_float": _as("f4"),
    "uint_as_float": _as("f4"),
    "double_as_longlong": _as("i8"),
    "longlong_as_double": _as("f8"),
    "isnan": np.isnan,
    "isinf": np.isinf,
    "finite": np.isfinite,
    "isfinite": np.isfinite,
    "signbit": np.signbit,
    "ldexp": np.ldexp,
    "nextafter": np.nextafter,
    "scalbn": np.ldexp,
    "jn": bessel.each(bessel.j),
    "yn": bessel.each(bessel.y),
    "powi": lambda x, n: np.power(x.astype(np.float64), n),
    "ilogb": lambda x: np.frexp(x)[1] - 1,
    "llrint": np.rint,
    "llround": _round_away,
}


def call(symbol: str, arguments: list[np.ndarray]) -> np.ndarray:
    """Applies ``__nv_tanhf`` and the like. Results are wide; the caller rounds.

    Raises:
        EmulatorError: the emulator does not know this function.
    """
    name = symbol.removeprefix("__nv_")
    for candidate in (name, name.removesuffix("f"), name.removesuffix("d"), name.removesuffix("ll")):
        if candidate in ("fma", "fma_rn"):
            return arithmetic.fma(*arguments)
        if candidate in _RAW:
            return _RAW[candidate](*arguments)
        if candidate in _FLOAT:
            return _FLOAT[candidate](*[a.astype(np.float64) for a in arguments])
    place = current_place()
    text = f"The emulator does not know `{symbol}`, called at {place}. Use another function, or write it out with `tl`."
    raise EmulatorError(Finding("not-emulated", text, line=place.line, source=place.source, file=place.file))
