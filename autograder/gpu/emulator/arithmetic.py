"""Rounding between the floating-point types of a GPU, on numpy arrays.

bfloat16 is held as uint16, as the interpreter holds it.
"""

from typing import Any

import numpy as np

_BF16_NAN = np.uint16(0x7FFF)  # the NaN that cvt.rn.bf16.f32 returns
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


def product_tf32(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a @ b`` of float32 in TF32, summed in float32."""
    product: np.ndarray = np.matmul(to_tf32(a), to_tf32(b))
    return product


def product_tf32x3(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``a @ b`` of float32 as three products in TF32, the way Triton's compiler takes it apart: the factors as sums of
    two, without the product of the small parts. A NaN that comes from there alone counts as 0.
    """
    large_a, large_b = to_tf32(a, nearest=True), to_tf32(b, nearest=True)
    small_a, small_b = to_tf32(a - large_a, nearest=True), to_tf32(b - large_b, nearest=True)
    small = np.matmul(small_a, large_b) + np.matmul(large_a, small_b)
    small = np.where(np.isnan(small), np.float32(0), small)
    return np.add(small, np.matmul(large_a, large_b))


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
    """``x * y + z`` rounded to odd in float64, for factors of at most float32, whose product is exact in float64."""
    product = x.astype(np.float64) * y
    addend = z.astype(np.float64)
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    return odd(total, error)


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
