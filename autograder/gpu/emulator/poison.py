"""Bit patterns for memory that a GPU promises nothing about: NaN for floats, a large odd number for integers."""

import ctypes
from typing import Any

import numpy as np
import torch

# The NaNs are quiet and carry a payload no arithmetic produces, so that they differ from any computed NaN.
_BITS = {"f2": 0x7EA5, "f4": 0x7FE5A5A5, "f8": 0x7FFCA5A5A5A5A5A5, "b2": 0x7FE5}


def word(kind: str, size: int) -> np.ndarray:
    """The pattern of one element of ``size`` bytes, as an unsigned word. kind: f for a float, b for bfloat16, and for
    everything else 0x5B5B..5B: odd, positive, the same in signed and unsigned types, and no offset into any tensor.
    """
    bits = _BITS.get(f"{kind}{size}", int.from_bytes(b"\x5b" * size))
    return np.array([bits], dtype=f"u{size}")


def of_torch(dtype: torch.dtype) -> np.ndarray:
    """The pattern for one element of a torch type, as unsigned words."""
    if dtype == torch.bfloat16:
        return word("b", 2)
    if dtype.is_complex:
        return np.repeat(of_torch(dtype.to_real()), 2)
    if dtype == torch.bool:
        return np.array([1], dtype="u1")
    return word("f" if dtype.is_floating_point else "i", dtype.itemsize)


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
