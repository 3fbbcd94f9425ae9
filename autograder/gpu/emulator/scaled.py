"""`tl.dot_scaled`: products of blocks in microscaling formats, as float32, which holds their elements exactly.

Open Compute Project, "Microscaling formats (MX) specification", 1.0, 2023: float4 is e2m1, two in a byte, the first in
the lower half; a scale e8m0 is 2^(byte - 127), 255 is NaN, and belongs to 32 elements along k. A scale in float8 e4m3
belongs to 16 (NVFP4).
"""

from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from .handles import wide

_FLOAT4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=np.float32)


class _Format(str):
    """A format's name: text for Triton 3.9, a constant with a ``value`` for those before."""

    @property
    def value(self) -> str:
        return str(self)


def formats_as_constants(dot_scaled: Any) -> Any:
    """Triton's `dot_scaled`, whose formats are constants in the compiler and text in the interpreter."""

    def called(lhs: Any, lhs_scale: Any, lhs_format: Any, rhs: Any, rhs_scale: Any, rhs_format: Any, *rest: Any) -> Any:
        named = (_Format(getattr(encoding, "value", encoding)) for encoding in (lhs_format, rhs_format))
        return dot_scaled(lhs, lhs_scale, next(named), rhs, rhs_scale, next(named), *rest)

    return called


def elements(block: TensorHandle, scale: TensorHandle | None, k: int, packed: int) -> np.ndarray:
    """A block's elements, scaled, in float32. k: the axis along which a scale belongs to several; packed: that along
    which two float4 share a byte; both are counted from the end.
    """
    values = _unpacked(block.data, packed) if block.dtype.scalar == tl.uint8 else wide(block).astype(np.float32)
    if scale is None:
        return values
    along = np.moveaxis(values, k, -1)
    factors = _factors(scale)
    return np.moveaxis(along * np.repeat(factors, along.shape[-1] // factors.shape[-1], axis=-1), -1, k)


def _unpacked(words: np.ndarray, axis: int) -> np.ndarray:
    words = np.moveaxis(words.view(np.uint8), axis, -1)
    codes = np.stack((words & 15, words >> 4), axis=-1).reshape(*words.shape[:-1], -1)
    magnitude = _FLOAT4[codes & 7]
    return np.moveaxis(np.where(codes & 8, -magnitude, magnitude), -1, axis)


def _factors(scale: TensorHandle) -> np.ndarray:
    if scale.dtype.scalar not in (tl.uint8, tl.int8):  # the compiler takes both, and reads bits
        factors: np.ndarray = wide(scale).astype(np.float32)
        return factors
    words = scale.data.view(np.uint8)
    return np.where(words == 255, np.float32(np.nan), np.exp2(words.astype(np.float32) - 127))
