"""Tensors as raw bytes in memory that two processes share: laid out and read back by the parent's own account of them.

Nothing is serialised. A tensor is a dtype, a shape, strides and a place; what the other process says of itself is
checked against the size of the memory before a byte is touched. The memory is sealed: it cannot be shrunk under the
reader.
"""

import fcntl
import math
import mmap
import os
from dataclasses import dataclass
from typing import Any

import torch

from ...call import huge_strides
from ...call.elements import bits, changed, dtype_name, once, span
from ...call.tree import Args, Tree

ALIGNMENT = max(4096, mmap.PAGESIZE)
POISON = 0x5B  # every byte of an unwritten output: a finite number in any dtype, and unlikely to be right

DTYPES = {
    dtype_name(dtype): dtype
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.complex128)
    + (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)
    + (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
}


@dataclass(frozen=True)
class BufferLayout:
    """Where a tensor lies: ``stride`` in elements, ``offset`` in bytes."""

    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    @property
    def nbytes(self) -> int:
        """Bytes of memory; of rows that lie far apart, what they take without what is between them."""
        if self.is_apart:
            return huge_strides.nbytes(DTYPES[self.dtype], self.shape)
        return span(self.shape, self.stride) * DTYPES[self.dtype].itemsize

    @property
    def is_apart(self) -> bool:
        """Returns whether its rows lie so far apart that 32-bit offsets cannot reach them (`apart`)."""
        return huge_strides.is_apart(self.shape, self.stride)

    @property
    def addresses(self) -> int:
        """Bytes of address space that the tensor needs in addition to its memory."""
        return huge_strides.reach(DTYPES[self.dtype], self.shape) if self.is_apart else 0

    def data(self) -> dict[str, Any]:
        """Returns the layout as JSON has it, for `of`."""
        return {"dtype": self.dtype, "shape": self.shape, "stride": self.stride, "offset": self.offset}

    @staticmethod
    def of(data: dict[str, Any]) -> "BufferLayout":
        """Returns the layout that `data` wrote."""
        return BufferLayout(data["dtype"], tuple(data["shape"]), tuple(data["stride"]), data["offset"])


def rounded(nbytes: int) -> int:
    """Returns the bytes of the whole pages that hold ``nbytes``."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def contiguous(dtype: torch.dtype, shape: tuple[int, ...], offset: int) -> BufferLayout:
    """Returns the layout of a contiguous tensor that begins ``offset`` bytes into the memory."""
    stride = tuple(math.prod(max(size, 1) for size in shape[i + 1 :]) for i in range(len(shape)))
    return BufferLayout(dtype_name(dtype), tuple(shape), stride, offset)


class Shared:
    """A piece of memory with a file descriptor to hand to another process."""

    def __init__(self, nbytes: int):
        self.nbytes = max(rounded(nbytes), ALIGNMENT)
        self.file = os.memfd_create("tensors", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.file, self.nbytes)
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(self.file, fcntl.F_ADD_SEALS, seals)
            self.memory = mmap.mmap(self.file, self.nbytes)
        except BaseException:
            os.close(self.file)
            raise

    def __enter__(self) -> "Shared":
        return self

    def __exit__(self, *error: object) -> None:
        """Gives the descriptor back; the memory goes when the last tensor in it does."""
        os.close(self.file)

    def tensor(self, layout: BufferLayout) -> torch.Tensor:
        """Returns the tensor that lies there, see `tensor_in`."""
        return tensor_in(self.memory, layout)


def opened(file: int) -> mmap.mmap:
    """Maps the memory behind a descriptor that another process handed over, and closes the descriptor."""
    with open(file, "r+b", buffering=0) as shared:
        return mmap.mmap(shared.fileno(), os.fstat(shared.fileno()).st_size)


def tensor_in(memory: mmap.mmap, layout: BufferLayout) -> torch.Tensor:
    """Returns a tensor whose storage is just its part of ``memory``. Raises ValueError where it would exceed it."""
    dtype, elements = DTYPES[layout.dtype], span(layout.shape, layout.stride)
    if layout.offset < 0 or layout.offset + layout.nbytes > len(memory):
        raise ValueError("a tensor lies outside of its memory")
    if not elements:
        return torch.empty(layout.shape, dtype=dtype)
    if layout.is_apart:
        return huge_strides.tensor(memory, layout.offset, dtype, layout.shape)
    flat = torch.frombuffer(memory, dtype=dtype, count=elements, offset=layout.offset)
    return flat.as_strided(layout.shape, layout.stride)


def lay_out(args: Args) -> list[BufferLayout]:
    """Returns layouts of the tensors one after the other, each at the beginning of a page, but one that a list holds
    twice. Strides are kept.
    """
    layouts: list[BufferLayout] = []
    offset, tree = 0, Tree(args)
    for number, (first, tensor) in enumerate(zip(tree.firsts, tree.tensors, strict=True)):
        if first < number:
            layouts.append(layouts[first])
            continue
        layout = BufferLayout(dtype_name(tensor.dtype), tuple(tensor.shape), tensor.stride(), offset)
        layouts.append(layout)
        offset += rounded(layout.nbytes)
    return layouts


def size_of(layouts: list[BufferLayout]) -> int:
    """Returns the bytes of memory that hold them all."""
    return max((layout.offset + rounded(layout.nbytes) for layout in layouts), default=0)


def put(shared: Shared, layout: BufferLayout, tensor: torch.Tensor) -> None:
    """Copies a tensor's elements in. What lies between them stays zero, so that nothing else of this process leaks."""
    place, source = once(shared.tensor(layout)), once(tensor)
    place.copy_(source)


def same(shared: Shared, layout: BufferLayout, tensor: torch.Tensor) -> bool:
    """Returns whether the memory still holds what `put` wrote, bit for bit."""
    place, source = once(shared.tensor(layout)), once(tensor)
    return bits(place).equal(bits(source))


def nothing_between(shared: Shared, layout: BufferLayout) -> bool:
    """Returns whether all that lies between the elements is still zero, as `put` leaves it."""
    if layout.is_apart:
        return True  # and cannot be written
    place = shared.tensor(layout)
    elements_alone = changed(place, lambda elements: elements)
    every = (span(layout.shape, layout.stride),)
    return bits(place.as_strided(every, (1,))).equal(bits(elements_alone.as_strided(every, (1,))))
