"""Says what a kernel's variables hold for many programs: other rows of it, and one of two values for each program."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from .. import offsets
from ..history.hashes import carry
from .fallback import NoLockstep
from .pointers import BlockPointer, Descriptor, Pointer

ArrayChange = Callable[[np.ndarray], np.ndarray]  # of an array whose first axis is the programs'
ArrayChoice = Callable[[np.ndarray, np.ndarray], np.ndarray]


def changed(value: Any, change: ArrayChange) -> Any:
    """A value with each array in it changed. Raises NoLockstep for what may hold arrays out of sight."""
    if isinstance(value, tl.tensor):
        return tl.tensor(_changed_handle(value.handle, change), value.type)
    if isinstance(value, tl.core.tensor_descriptor_base):
        result = copy.copy(value)
        result.handle = _changed_handle(value.handle, change)
        return result
    if isinstance(value, tuple | tl.tuple) and not hasattr(value, "_fields"):
        return type(value)([changed(part, change) for part in value])
    if isinstance(value, bool | int | float | str | tl.dtype | tl.constexpr | None):
        return value
    raise NoLockstep


def either(left: Any, other: Any, choose: ArrayChoice) -> Any:
    """A value whose arrays ``choose`` makes of those of two. Raises NoLockstep where one value cannot hold both."""
    if left is other:
        return left
    if type(left) is not type(other):
        raise NoLockstep
    if isinstance(left, tl.tensor) and left.type.name == other.type.name:
        return tl.tensor(_either_handle(left.handle, other.handle, choose), left.type)
    if isinstance(left, tuple | tl.tuple) and len(left) == len(other) and not hasattr(left, "_fields"):
        return type(left)([either(first, second, choose) for first, second in zip(left, other, strict=True)])
    if _is_equal(*((left.value, other.value) if isinstance(left, tl.constexpr) else (left, other))):
        return left
    raise NoLockstep


def _is_equal(left: Any, other: Any) -> bool:
    plain = isinstance(left, bool | int | float | str | tl.dtype | None)
    return plain and type(left) is type(other) and repr(left) == repr(other)  # -0.0 and 0.0 differ, NaN is NaN


def selected(on: np.ndarray, left: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The rows of ``one`` where a program is on, of ``other`` elsewhere."""
    return np.where(on.reshape(-1, *(1,) * (left.ndim - 1)), left, other)


def taken(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Some rows of an array, or the one that stands for all."""
    return values if len(values) == 1 else values[rows]


def put(old: np.ndarray, rows: np.ndarray, new: np.ndarray, count: int) -> np.ndarray:
    """An array of ``count`` rows: ``new`` in some of them, ``old`` elsewhere."""
    shape = (count, *np.broadcast_shapes(old.shape[1:], new.shape[1:]))
    result = np.array(np.broadcast_to(old, shape), dtype=np.promote_types(old.dtype, new.dtype), order="C")
    result[rows] = new
    return result


def spread(values: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """An array of ``count`` rows of which only some matter."""
    return values if len(values) == 1 else put(np.zeros_like(values[:1]), rows, values, count)


def _changed_handle(handle: Any, change: ArrayChange) -> Any:
    def each(parts: Any) -> list[Any]:
        return [_changed_handle(part, change) for part in parts]

    if isinstance(handle, BlockPointer):
        base, shape, strides = _changed_handle(handle.base, change), each(handle.shape), each(handle.strides)
        return BlockPointer(base, shape, strides, each(handle.offsets), handle.block_shape, handle.order)
    if isinstance(handle, Descriptor):
        base, shape, strides = _changed_handle(handle.base, change), each(handle.shape), each(handle.strides)
        return Descriptor(base, shape, strides, handle.block_shape, handle.padding)
    if isinstance(handle, tl.tensor):  # a stride of a descriptor
        return tl.tensor(_changed_handle(handle.handle, change), handle.type)
    if isinstance(handle, tl.constexpr | int):
        return handle
    if isinstance(handle, Pointer):
        result = handle.moved(change)
    elif type(handle) is TensorHandle:
        result = TensorHandle(change(handle.data), handle.dtype)
        carry(result, change, handle)
    else:
        raise NoLockstep
    result.attr = handle.attr
    return result


def _either_handle(left: Any, other: Any, choose: ArrayChoice) -> Any:
    if left is other:
        return left
    if type(left) is not type(other):
        raise NoLockstep
    if isinstance(left, BlockPointer) and (left.block_shape, left.order) == (other.block_shape, other.order):
        shape, strides, starts = (
            [_either_handle(first, second, choose) for first, second in zip(*parts, strict=True)]
            for parts in ((left.shape, other.shape), (left.strides, other.strides), (left.offsets, other.offsets))
        )
        base = _either_handle(left.base, other.base, choose)
        return BlockPointer(base, shape, strides, starts, left.block_shape, left.order)
    if isinstance(left, Pointer) and left.region is other.region and left.dtype.name == other.dtype.name:
        result = Pointer(left.region, choose(left.offsets, other.offsets), left.dtype, left.bare and other.bare)
    elif type(left) is TensorHandle and left.data.dtype == other.data.dtype:
        result = TensorHandle(choose(left.data, other.data), left.dtype)
        carry(result, choose, left, other)
    else:
        raise NoLockstep
    return offsets.mark(result, offsets.total(offsets.kind_of(left), offsets.kind_of(other)))
