"""The float8 formats of NVIDIA's tensor cores on numpy arrays, held as uint8: conversions by table.

e4m3 (`tl.float8e4nv`) has no infinity and one NaN; e5m2 (`tl.float8e5`) is IEEE 754. Micikevicius et al., "FP8 formats
for deep learning", 2022, arXiv:2209.05433. Triton's own e4b15 (bias 15) has numbers alone. Overflow saturates, as PTX
``cvt.rn.satfinite`` does.
"""

import numpy as np
import triton.language as tl

from .refused import refuse

# Bits of the significand, bias, the number at which it saturates; Triton makes e4b15 in software, and 1.75 of a NaN.
FORMATS = {tl.float8e4nv: (3, 7, 0x7E), tl.float8e5: (2, 15, 0x7B), tl.float8e4b15: (3, 15, 0x7E)}


def _values(dtype: tl.dtype) -> np.ndarray:
    """The values of the codes 0 to 127; what lies beyond the largest number is infinity or NaN."""
    bits, bias, largest = FORMATS[dtype]
    codes = np.arange(128)
    exponent, fraction = codes >> bits, (codes & ((1 << bits) - 1)) / (1 << bits)
    values = np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))
    if dtype != tl.float8e4b15:
        values[largest + 1 :] = np.nan
    if dtype == tl.float8e5:
        values[largest + 1] = np.inf
    return values.astype(np.float32)


def to_float32(words: np.ndarray, dtype: tl.dtype) -> np.ndarray:
    """float8 words to float32: exact."""
    words = words.view(np.uint8)
    magnitude: np.ndarray = _values(dtype)[words & 0x7F]
    return np.where(words & 0x80, -magnitude, magnitude)


def from_floats(values: np.ndarray, dtype: tl.dtype, to_zero: bool = False) -> np.ndarray:
    """Floats of any width to float8 words, to nearest even or toward zero, saturating; NaN stays NaN."""
    largest = FORMATS[dtype][2]
    finite = _values(dtype)[: largest + 1].astype(np.float64)
    middles = (finite[:-1] + finite[1:]) / 2
    magnitude = np.abs(values.astype(np.float64))
    if to_zero:
        codes: np.ndarray = np.searchsorted(finite, magnitude, "right") - 1
    else:
        below, above = np.searchsorted(middles, magnitude, "left"), np.searchsorted(middles, magnitude, "right")
        codes = np.where(below % 2 == 0, below, above)  # they differ on a midpoint alone, which goes to the even code
    nan = largest if dtype == tl.float8e4b15 else 0x7F
    codes = np.where(np.isnan(values), nan, codes) | np.where(np.signbit(values), 0x80, 0)
    return codes.astype(np.uint8)


def refuse_arithmetic(dtype: tl.dtype) -> None:
    """Refuses a float8, which Triton's front end takes and the rest of its compiler does not."""
    if dtype.is_fp8():
        refuse(
            f"no GPU adds, multiplies or compares numbers of {dtype}; convert them first, as in `x.to(tl.float32)`. "
            "`tl.dot` takes them as they are."
        )
