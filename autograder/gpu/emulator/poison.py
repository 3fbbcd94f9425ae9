"""Bit patterns for memory that a GPU promises nothing about: NaN for floats, a large odd number for integers."""

import ctypes
import math
from typing import Any

import numpy as np
import torch
import triton.language as tl

from . import arithmetic, float8

# The NaNs are quiet and carry a payload no arithmetic produces, so that they differ from any computed NaN.
_BITS = {"f2": 0x7EA5, "f4": 0x7FE5A5A5, "f8": 0x7FFCA5A5A5A5A5A5, "b2": 0x7FE5}


_LARGE = 10_000


def _integer(size: int) -> int:
    """0x5B5B..5B: odd, positive, the same in signed and unsigned types, and no offset into any tensor."""
    return int.from_bytes(b"\x5b" * size)


def _word(bits: int, size: int) -> np.ndarray:
    return np.array([bits], dtype=f"u{size}")


def of_triton(dtype: tl.dtype, storage: np.dtype) -> np.ndarray:
    """One poisoned value of a Triton type, as an array of one element of the interpreter's numpy type."""
    size = storage.itemsize
    if dtype == tl.bfloat16:
        return _word(_BITS["b2"], 2).view(storage)
    if storage.kind == "f":
        return _word(_BITS[f"f{size}"], size).view(storage)
    if storage.kind == "b":
        return np.array([True])
    return _word(_integer(size), size).view(storage)


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


def of_torch(dtype: torch.dtype) -> np.ndarray:
    """The pattern for one element of a torch type, as unsigned words."""
    if dtype == torch.bfloat16:
        return _word(_BITS["b2"], 2)
    if dtype.is_complex:
        return np.repeat(of_torch(dtype.to_real()), 2)
    if dtype == torch.bool:
        return _word(1, 1)
    size = dtype.itemsize
    if dtype.is_floating_point and size > 1:
        return _word(_BITS[f"f{size}"], size)
    return _word(_integer(size), size)


def memory(address: int, nbytes: int) -> np.ndarray:
    """The bytes at an address, as a writable array. The caller keeps the memory alive."""
    raw: Any = (ctypes.c_char * nbytes).from_address(address)
    return np.frombuffer(raw, dtype=np.uint8)


def fill(tensor: torch.Tensor) -> None:
    """Overwrite a tensor's whole storage with its type's pattern. Calls no ATen operator."""
    storage = tensor.untyped_storage()
    if tensor.device.type != "cpu" or storage.nbytes() == 0:
        return
    words = of_torch(tensor.dtype)
    raw = memory(storage.data_ptr(), storage.nbytes())
    whole = raw[: raw.size // words.nbytes * words.nbytes].view(words.dtype)
    if words.size == 1:
        whole[:] = words[0]
    else:
        whole.reshape(-1, words.size)[:] = words
