"""Rounding between the floating-point types of a GPU, on numpy arrays.

bfloat16 is held as uint16, as the interpreter holds it.
"""

import math
from fractions import Fraction
from typing import Any, cast

import numpy as np

_BF16_NAN = np.uint16(0x7FFF)  # the NaN that cvt.rn.bf16.f32 returns
_LEAST = np.finfo(np.float32).tiny  # of the normal numbers
_LARGE = 1 << 13  # elements; the branches of fewer cost less than the calls


def from_bf16(words: np.ndarray) -> np.ndarray:
    """bfloat16 words to float32: exact."""
    return (words.astype(np.uint32) << 16).view(np.float32)


def to_bf16(values: np.ndarray, to_zero: bool = False) -> np.ndarray:
    """float32 to bfloat16 words, to nearest even or toward zero."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    if to_zero:
        words = bits >> 16
    else:
        words = (bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))) >> 16
    words = words.astype(np.uint16)
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    if nan.any():
        words = np.where(nan, _BF16_NAN, words)
    return words


def to_tf32(values: np.ndarray, nearest: bool = False) -> np.ndarray:
    """float32 in TF32, which has 11 of its 24 bits: cut off, as a tensor core reads a float32; or to nearest, ties
    away from zero, as PTX ``cvt.rna.tf32`` rounds.
    """
    bits = np.ascontiguousarray(values).view(np.uint32)
    if nearest:
        bits = np.where(np.isfinite(values), bits + np.uint32(1 << 12), bits)
    return (bits & np.uint32(0xFFFFE000)).view(np.float32)


def flushed(values: np.ndarray) -> np.ndarray:
    """float32 with zeros, of the same sign, in place of subnormal numbers."""
    small = np.abs(values) < _LEAST
    return np.where(small, np.copysign(np.float32(0), values), values) if small.any() else values


def odd(values: np.ndarray, error: np.ndarray) -> np.ndarray:
    """``values + error`` rounded to odd in float64; ``values`` is the nearest float64 and ``error`` what it lacks.

    A sum rounded to odd can be rounded once more, to a type at least two bits narrower, without double rounding
    (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
    """
    bits = np.atleast_1d(values).view(np.int64)
    move = np.isfinite(values) & (error != 0) & np.isfinite(error) & (bits & 1 == 0)
    step = np.where((error > 0) == (values > 0), 1, -1)
    return np.where(move, bits + step, bits).view(np.float64).reshape(values.shape)


def narrow(values: np.ndarray) -> np.ndarray:
    """float64 to float32 rounded to odd, so that float32 to bfloat16 or float16 rounds the float64 once."""
    nearest = values.astype(np.float32)
    bits = np.atleast_1d(nearest).view(np.int32)
    error = values - nearest.astype(np.float64)
    move = np.isfinite(nearest) & (error != 0) & (bits & 1 == 0)
    # Next to zero the sign is the error's own; elsewhere one step up in bits is one step away from zero.
    away = (error > 0) == (nearest > 0)
    moved = np.where(nearest == 0, np.where(error > 0, 1, np.int32(-(2**31) + 1)), bits + np.where(away, 1, -1))
    return np.where(move, moved, bits).astype(np.int32).view(np.float32).reshape(values.shape)


def fma(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """``x * y + z``: of float64 rounded once to float64; of narrower factors, whose product is exact in float64,
    rounded to odd in float64.
    """
    if z.dtype == np.float64:
        return _fused(*np.broadcast_arrays(x, y, z))
    return odd(*_sum(x.astype(np.float64) * y, z.astype(np.float64)))


def _sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``a + b``, and what it lacks of the exact sum (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _fused(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """`fma` of float64 (Boldo and Melquiond, 2008): the exact product as two numbers, whose sum with z is rounded to
    odd before it is rounded. Where a part could overflow or be subnormal, in exact fractions.
    """
    product = x * y
    low_x, low_y = _low_half(x), _low_half(y)
    high_x, high_y = x - low_x, y - low_y
    error = low_x * low_y - (((product - high_x * high_y) - low_x * high_y) - high_x * low_y)
    addend, small = _sum(z, error)
    total, rest = _sum(product, addend)
    result = total + odd(*_sum(small, rest))
    usual = np.all([_is_usual(each) for each in (x, y, z, product)], axis=0)
    exact = np.isfinite(x) & np.isfinite(y) & np.isfinite(z) & ~usual
    result = cast(np.ndarray, np.where(usual, result, product + z))
    for at in zip(*np.nonzero(exact), strict=True):
        first, other, third = (Fraction(float(each[at])) for each in (x, y, z))
        result[at] = _nearest(first * other + third, product[at] + z[at])
    return result


def _low_half(values: np.ndarray) -> np.ndarray:
    """The lower 26 bits of float64 numbers (Veltkamp)."""
    scaled: np.ndarray = values * 134_217_729.0  # 2^27 + 1
    low: np.ndarray = values - (scaled - (scaled - values))
    return low


def _is_usual(values: np.ndarray) -> np.ndarray:
    magnitude = np.abs(values)
    usual: np.ndarray = (values == 0) | ((magnitude > 2.0**-900) & (magnitude < 2.0**900))
    return usual


def _nearest(exact: Fraction, near: np.float64) -> float:
    """A fraction as float64. near: what tells the sign of a zero or an infinity."""
    try:
        return float(exact) if exact else float(near)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def truncate(values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Rounds toward zero to a narrower numpy float type."""
    nearest = values.astype(dtype)
    overshot = np.abs(nearest.astype(np.float64)) > np.abs(values)
    return np.where(overshot & np.isfinite(values), np.nextafter(nearest, dtype.type(0)), nearest)


def to_integer(values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Converts floats to integers as PTX ``cvt.rzi`` does: toward zero, saturating, NaN to zero."""
    if dtype.itemsize < 4:
        return to_integer(values, np.dtype(np.int32)).astype(dtype)
    limits = np.iinfo(dtype)
    whole = np.trunc(values.astype(np.float64))
    # The upper limit of 64-bit types has no float64 of its own: compare with the power of two above it.
    high, low = whole >= float(limits.max) + (dtype.itemsize < 8), whole <= float(limits.min)
    safe = np.where(np.isnan(whole) | high | low, 0, whole).astype(dtype)
    return np.where(high, limits.max, np.where(low, limits.min, safe)).astype(dtype)


def select(condition: np.ndarray, values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """``np.where``, whose branches a processor cannot foresee: large arrays are put together bit by bit."""
    if max(condition.size, values.size, others.size) < _LARGE or values.dtype != others.dtype:
        return np.where(condition, values, others)
    shape = np.broadcast_shapes(condition.shape, values.shape, others.shape)
    if condition.all():
        return np.broadcast_to(values, shape)
    if not condition.any():
        return np.broadcast_to(others, shape)
    word = f"i{values.itemsize}"
    chosen = np.negative((condition != 0).view(np.int8)).astype(word, copy=False)
    bits = np.empty(shape, word)
    np.bitwise_xor(values.view(word), others.view(word), out=bits)
    bits &= chosen
    bits ^= others.view(word)
    return bits.view(values.dtype)
