"""Says what a handle of the interpreter holds: numpy types for Triton's, and rounding from the one to the other."""

from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from ..borrowed import get_np_dtype
from . import arithmetic, float8

_original_numpy_type = get_np_dtype
_numpy_types: dict[str, np.dtype[Any]] = {}


def numpy_type(dtype: tl.dtype) -> np.dtype[Any]:
    """The numpy type in which the interpreter holds a Triton type, remembered by the scalar's name."""
    name = dtype.scalar.name
    if name not in _numpy_types:
        _numpy_types[name] = _original_numpy_type(dtype)
    return _numpy_types[name]


def wide(handle: TensorHandle) -> np.ndarray:
    """The handle's values in a type numpy can compute with."""
    dtype, data = handle.dtype.scalar, handle.data
    if dtype == tl.bfloat16:
        return arithmetic.from_bf16(data)
    values: np.ndarray = float8.to_float32(data, dtype) if dtype in float8.FORMATS else data
    return values


def rounded(values: np.ndarray, dtype: tl.dtype) -> TensorHandle:
    """Values rounded to a Triton type. A comparison's result is int1, whatever was compared."""
    if values.dtype == np.bool_:
        return TensorHandle(values, tl.int1)
    if dtype == tl.bfloat16:
        return TensorHandle(arithmetic.to_bf16(values), dtype)
    wanted = numpy_type(dtype)
    return TensorHandle(values if values.dtype == wanted else values.astype(wanted), dtype)


def kept(result: TensorHandle, source: TensorHandle) -> TensorHandle:
    """``made``, which has the values of ``source``, with what is known of them."""
    result.attr = source.attr
    return result


def cast(values: np.ndarray, target: tl.dtype, to_zero: bool) -> np.ndarray:
    """Converts values to a Triton type, to nearest even or toward zero."""
    if target == tl.bfloat16:
        if values.dtype == np.float64:
            values = values.astype(np.float32) if to_zero else arithmetic.narrow(values)
        return arithmetic.to_bf16(values.astype(np.float32), to_zero)
    if target in float8.FORMATS:
        return float8.from_floats(values, target, to_zero)
    dtype = numpy_type(target)
    if values.dtype.kind == "f" and dtype.kind in "iu":
        return arithmetic.to_integer(values, dtype)
    if to_zero and dtype.kind == "f" and dtype.itemsize < values.itemsize:
        return arithmetic.truncate(values, dtype)
    return values.astype(dtype)
