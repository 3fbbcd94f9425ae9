"""Tensors whose rows lie so far apart that 32-bit offsets cannot reach them, in the memory of the rows alone.

A row is what one index of the first dimension gives, and contiguous. The addresses between the rows read as zeros and
cannot be written. The rows themselves are pages of a shared mapping, mapped a second time at their place.
"""

import ctypes
import functools
import math
import mmap
import sys
import weakref

import torch

STRIDE = 1 << 30  # elements from row to row: the offset of the third has no place in an int32
_MAYMOVE, _FIXED = 1, 2  # of mremap


def is_apart(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Returns whether these are the rows of such a tensor: contiguous ones, on pages of their own."""
    return len(shape) > 1 and shape[0] > 0 < math.prod(shape[1:]) <= STRIDE // 2 and tuple(stride) == _stride(shape)


def nbytes(dtype: torch.dtype, shape: tuple[int, ...]) -> int:
    """Bytes of memory that the rows take."""
    return shape[0] * _row(dtype, shape)


def reach(dtype: torch.dtype, shape: tuple[int, ...]) -> int:
    """Bytes of addresses from the first row to the end of the last."""
    return (shape[0] - 1) * STRIDE * dtype.itemsize + _row(dtype, shape)


def tensor(memory: mmap.mmap, begin: int, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    """The tensor, its rows one after the other in ``memory`` from byte ``begin`` on, each on pages of its own.

    memory: a shared mapping; ``begin`` is a multiple of the page size. Raises OSError where the system has no room for
    the addresses.
    """
    libc, size, row = _libc(), reach(dtype, shape), _row(dtype, shape)
    source = ctypes.addressof(ctypes.c_char.from_buffer(memory, begin))
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    start = _checked(libc.mmap(None, size, mmap.PROT_READ, private, -1, 0))
    for number in range(shape[0]):
        place = start + number * STRIDE * dtype.itemsize
        _checked(libc.mremap(source + number * row, 0, row, _MAYMOVE | _FIXED, place))
    addresses = (ctypes.c_char * size).from_address(start)
    weakref.finalize(addresses, libc.munmap, start, size)
    return torch.frombuffer(addresses, dtype=dtype).as_strided(shape, _stride(shape))


def far_apart(rows: torch.Tensor) -> torch.Tensor:
    """The tensor with its rows `STRIDE` elements apart, in memory of its own; a plain copy outside Linux."""
    if sys.platform != "linux":
        return rows.clone()
    memory = mmap.mmap(-1, nbytes(rows.dtype, rows.shape))
    return tensor(memory, 0, rows.dtype, tuple(rows.shape)).copy_(rows)


@functools.cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


def _stride(shape: tuple[int, ...]) -> tuple[int, ...]:
    return STRIDE, *(math.prod(shape[dim + 1 :]) for dim in range(1, len(shape)))


def _row(dtype: torch.dtype, shape: tuple[int, ...]) -> int:
    return -(-math.prod(shape[1:]) * dtype.itemsize // mmap.PAGESIZE) * mmap.PAGESIZE


def _checked(address: int) -> int:
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "no addresses left for a tensor whose rows lie far apart")
    return address


def duplicate(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in memory of its own with the same shape, strides and offset."""
    if is_apart(tensor.shape, tensor.stride()):
        return far_apart(tensor)
    copy = torch.empty(0, dtype=tensor.dtype)
    return copy.set_(tensor.untyped_storage().clone(), tensor.storage_offset(), tensor.shape, tensor.stride())
