"""Pointers of many programs: an argument and element offsets, so that bounds are the least and the greatest offset."""

import copy
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from ..address_space import AddressSpace, Region
from ..handles import numpy_type
from .fallback import Fallback


class Pointer(TensorHandle):  # type: ignore[misc]  # of a library without types
    """Pointers into one argument: offsets in its elements, of shape ``(rows, *block)``.

    bare: the argument itself, to which nothing was added.
    """

    def __init__(self, region: Region, offsets: np.ndarray, dtype: tl.dtype, bare: bool = False):
        self.region, self.offsets, self.dtype, self.bare = region, offsets, dtype, bare
        self.attr: dict[str, Any] = {}

    @property
    def data(self) -> np.ndarray:
        """Addresses, for what compares pointers or asks for their shape."""
        return np.uint64(self.region.virtual) + (self.offsets.astype(np.int64) * self.region.itemsize).view(np.uint64)

    def moved(self, change: Callable[[np.ndarray], np.ndarray]) -> "Pointer":
        """The same pointers in another shape."""
        return Pointer(self.region, change(self.offsets), self.dtype, self.bare)

    def plus(self, offsets: np.ndarray) -> "Pointer":
        """The pointers with integers added, in elements."""
        if offsets.dtype.itemsize < 4:
            offsets = offsets.astype(np.int32)
        elif offsets.dtype == np.uint64:
            offsets = offsets.view(np.int64)
        if not self.bare:
            return Pointer(self.region, self.offsets + offsets.astype(np.int64, copy=False), self.dtype)
        block = self.offsets.shape[1:]
        if offsets.shape[1:] != block and offsets.shape[1:] != np.broadcast_shapes(offsets.shape[1:], block):
            offsets = offsets + self.offsets
        return Pointer(self.region, offsets, self.dtype)

    def cast(self, dtype: tl.dtype) -> "Pointer":
        """The same pointers to elements of another type of the same size."""
        if numpy_type(dtype.element_ty).itemsize != self.region.itemsize:
            raise Fallback("a pointer to elements of another size")
        return Pointer(self.region, self.offsets, dtype, self.bare)


class BlockPointer:
    """`tl.make_block_ptr`, which Triton 3.8 no longer hands to its builder."""

    def __init__(
        self,
        base: TensorHandle,
        shape: list[TensorHandle],
        strides: list[TensorHandle],
        offsets: list[TensorHandle],
        block_shape: list[int],
        order: list[int],
    ):
        self.base, self.shape, self.strides, self.offsets = base, shape, strides, offsets
        self.block_shape, self.order = block_shape, order

    def materialize_pointers(self, boundary_check: Collection[int]) -> tuple[Pointer, np.ndarray]:
        """The pointers of the block, and a mask that is False beyond the ends of the dimensions to check."""
        return _block(self.base, self.offsets, self.shape, self.strides, self.block_shape, boundary_check)


class Descriptor(interpreter.TensorDescHandle):  # type: ignore[misc]
    """A tensor descriptor, whose base is a `Pointer`."""

    def materialize_pointers(self, offsets: list[TensorHandle]) -> tuple[Pointer, np.ndarray]:
        """The pointers of the block at ``offsets``, and a mask that is False beyond the tensor's ends."""
        starts = interpreter.interpreter_builder.programs.only_live(offsets[-1].data)
        if (starts * self.base.region.itemsize % 16).any():
            raise Fallback("a block that does not start at a multiple of 16 bytes")
        return _block(self.base, offsets, self.shape, self.strides, self.block_shape, range(self.ndim))


def _block(
    base: TensorHandle,
    starts: list[TensorHandle],
    shape: list[TensorHandle],
    strides: list[TensorHandle],
    block_shape: list[int],
    checked: Collection[int],
) -> tuple[Pointer, np.ndarray]:
    """Pointers and mask of a block that begins at ``starts``, which may differ between programs."""
    if not isinstance(base, Pointer):
        raise Fallback("a block of addresses that come from memory")
    rank = len(block_shape)

    def along(values: np.ndarray) -> np.ndarray:
        return values.astype(np.int64).reshape(-1, *(1,) * rank)

    offsets, mask = along(base.offsets), np.ones((1, *block_shape), dtype=bool)
    for dim, size in enumerate(block_shape):
        at = along(starts[dim].data) + np.arange(size).reshape([-1 if d == dim else 1 for d in range(-1, rank)])
        offsets = offsets + at * along(strides[dim].data)
        if dim in checked:
            mask = mask & (at >= 0) & (at < along(shape[dim].data))
    offsets = np.broadcast_to(offsets, (offsets.shape[0], *block_shape))
    return Pointer(base.region, offsets, base.dtype.scalar), mask


def pointers(value: Any, space: AddressSpace) -> Any:
    """A kernel's argument with `Pointer` in place of virtual addresses."""
    if isinstance(value, tuple):
        parts = [pointers(part, space) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, tl.tensor) and value.dtype.is_ptr():
        return tl.tensor(_argument(value.handle, space), value.type)
    if isinstance(value, tl.core.tensor_descriptor_base):
        old, value = value.handle, copy.copy(value)
        value.handle = Descriptor(_argument(old.base, space), old.shape, old.strides, old.block_shape, old.padding)
    return value


def stored(address: int, dtype: tl.dtype, space: AddressSpace) -> Pointer:
    """A pointer to an address that the kernel has loaded."""
    region = space.find(address) or space.reach(address)
    if region is None:
        raise Fallback("an address in no tensor")
    elements, rest = divmod(address - region.virtual, region.itemsize)
    if rest or region.itemsize != numpy_type(dtype.element_ty).itemsize:
        raise Fallback("a pointer to elements of another size")
    return Pointer(region, np.array([elements]), dtype)


def _argument(handle: TensorHandle, space: AddressSpace) -> Pointer:
    region = space.find(int(handle.data[0]))
    if region is None:
        raise Fallback("a pointer into none of the arguments")
    if region.itemsize != numpy_type(handle.get_element_ty()).itemsize:
        raise Fallback("a pointer to elements of another size")
    if before := (int(handle.data[0]) - region.virtual) // region.itemsize:
        return Pointer(region, np.array([before]), handle.dtype)
    return Pointer(region, np.zeros(1, np.int32), handle.dtype, bare=True)
