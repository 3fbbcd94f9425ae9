"""Hashes of 64 bits, elementwise."""

import hashlib
from collections.abc import Callable

import numpy as np
from triton.runtime.interpreter import TensorHandle

from ..handles import wide

U = np.uint64
ODD, ODDER, HALF = U(0x9E3779B97F4A7C15), U(0xD6E8FEB86659FD93), U(32)
_HELD = "history"  # the attribute of a handle


def seed(*names: object) -> np.uint64:
    """The hash of names and numbers."""
    return U(int.from_bytes(hashlib.blake2b(repr(names).encode(), digest_size=8).digest(), "little"))


def stir(h: np.ndarray) -> np.ndarray:
    """One round of mixing."""
    h = h * ODD
    h ^= h >> HALF
    return h


def of_bits(data: np.ndarray, zero: np.ndarray) -> np.ndarray:
    """The histories of numbers of which nothing is known but their bits; 0 where they are ``zero``."""
    h = stir(np.array(data.view(f"u{data.itemsize}"), U) ^ ODDER)
    h[zero] = 0
    return h


def with_places(h: np.ndarray, axis: int) -> np.ndarray:
    """Histories along an axis, each mixed with its place; 0 stays 0."""
    shape = [1] * h.ndim
    shape[axis] = -1
    places = (np.arange(1, h.shape[axis] + 1).astype(U) * ODDER).reshape(shape)
    return np.where(h == 0, U(0), stir(h + places))


def is_float(handle: object) -> bool:
    """Returns whether a handle holds floating-point numbers."""
    return isinstance(handle, TensorHandle) and bool(handle.dtype.scalar.is_floating())


def is_zero(handle: TensorHandle) -> np.ndarray:
    """Returns which elements of a handle of floats are 0."""
    zero: np.ndarray = (handle.data if handle.data.dtype.kind == "f" else wide(handle)) == 0
    return zero


def history(handle: TensorHandle) -> np.ndarray:
    """The histories of a handle's elements, in the shape of its data or one that broadcasts to it."""
    hashes: np.ndarray | None = getattr(handle, _HELD, None)
    if hashes is None:
        if handle.data.size and handle.data.strides.count(0) == handle.data.ndim:
            handle = TensorHandle(handle.data[(slice(0, 1),) * handle.data.ndim], handle.dtype)  # one number, repeated
        data = np.ascontiguousarray(handle.data)
        hashes = of_bits(data, is_zero(TensorHandle(data, handle.dtype)))
        put(handle, hashes)
    return hashes


def put(handle: TensorHandle, h: np.ndarray) -> None:
    """Gives a handle's elements their histories."""
    setattr(handle, _HELD, h)


def carry(result: TensorHandle, change: Callable[..., np.ndarray], *handles: TensorHandle) -> None:
    """Gives a handle the histories of those that it was made of, by the ``change`` that made its data; none where they
    have none.
    """
    if any(hasattr(handle, _HELD) for handle in handles):
        put(result, change(*(np.broadcast_to(history(handle), handle.data.shape) for handle in handles)))
