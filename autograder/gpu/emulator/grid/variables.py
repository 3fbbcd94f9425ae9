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
        made = copy.copy(value)
        made.handle = _changed_handle(value.handle, change)
        return made
    if isinstance(value, tuple | tl.tuple) and not hasattr(value, "_fields"):
        return type(value)([changed(part, change) for part in value])
    if isinstance(value, bool | int | float | str | tl.dtype | tl.constexpr | None):
        return value
    raise NoLockstep


def either(one: Any, other: Any, choose: ArrayChoice) -> Any:
    """A value whose arrays ``choose`` makes of those of two. Raises NoLockstep where one value cannot hold both."""
    if one is other:
        return one
    if type(one) is not type(other):
        raise NoLockstep
    if isinstance(one, tl.tensor) and one.type.name == other.type.name:
        return tl.tensor(_either_handle(one.handle, other.handle, choose), one.type)
    if isinstance(one, tuple | tl.tuple) and len(one) == len(other) and not hasattr(one, "_fields"):
        return type(one)([either(first, second, choose) for first, second in zip(one, other, strict=True)])
    if _is_equal(*((one.value, other.value) if isinstance(one, tl.constexpr) else (one, other))):
        return one
    raise NoLockstep


def _is_equal(one: Any, other: Any) -> bool:
    plain = isinstance(one, bool | int | float | str | tl.dtype | None)
    return plain and type(one) is type(other) and repr(one) == repr(other)  # -0.0 and 0.0 differ, NaN is NaN


def selected(on: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The rows of ``one`` where a program is on, of ``other`` elsewhere."""
    return np.where(on.reshape(-1, *(1,) * (one.ndim - 1)), one, other)


def taken(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Some rows of an array, or the one that stands for all."""
    return values if len(values) == 1 else values[rows]


def put(old: np.ndarray, rows: np.ndarray, new: np.ndarray, count: int) -> np.ndarray:
    """An array of ``count`` rows: ``new`` in some of them, ``old`` elsewhere."""
    shape = (count, *np.broadcast_shapes(old.shape[1:], new.shape[1:]))
    made = np.array(np.broadcast_to(old, shape), dtype=np.promote_types(old.dtype, new.dtype), order="C")
    made[rows] = new
    return made


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
        made = handle.moved(change)
    elif type(handle) is TensorHandle:
        made = TensorHandle(change(handle.data), handle.dtype)
        carry(made, change, handle)
    else:
        raise NoLockstep
    made.attr = handle.attr
    return made


def _either_handle(one: Any, other: Any, choose: ArrayChoice) -> Any:
    if one is other:
        return one
    if type(one) is not type(other):
        raise NoLockstep
    if isinstance(one, BlockPointer) and (one.block_shape, one.order) == (other.block_shape, other.order):
        shape, strides, starts = (
            [_either_handle(first, second, choose) for first, second in zip(*parts, strict=True)]
            for parts in ((one.shape, other.shape), (one.strides, other.strides), (one.offsets, other.offsets))
        )
        base = _either_handle(one.base, other.base, choose)
        return BlockPointer(base, shape, strides, starts, one.block_shape, one.order)
    if isinstance(one, Pointer) and one.region is other.region and one.dtype.name == other.dtype.name:
        made = Pointer(one.region, choose(one.offsets, other.offsets), one.dtype, one.bare and other.bare)
    elif type(one) is TensorHandle and one.data.dtype == other.data.dtype:
        made = TensorHandle(choose(one.data, other.data), one.dtype)
        carry(made, choose, one, other)
    else:
        raise NoLockstep
    return offsets.mark(made, offsets.total(offsets.kind_of(one), offsets.kind_of(other)))
