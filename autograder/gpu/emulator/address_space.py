"""The tensors of one launch, each in an address range of its own, and the check that an access stays inside its tensor.

A kernel is not given real addresses. Every pointer argument gets a virtual range of 2^44 bytes with the tensor in its
middle, so that an address says which argument it was derived from, however far outside it lies: past the end, before
the start, or 2^32 elements away because a 32-bit offset wrapped. A neighbour in real memory can never be mistaken for
the tensor itself.
"""

import functools
import gc
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any

import numpy as np
import torch

from .poison import memory

_SHIFT = 44
_MIDDLE = 1 << (_SHIFT - 1)
_FIRST = 1 << (48 - _SHIFT)  # virtual ranges begin above every real address, which has 48 bits


class AddressLayout:
    """Holds which element offsets (from the first element) belong to a strided view."""

    def __init__(self, shape: tuple[int, ...], stride: tuple[int, ...]):
        dims = sorted(((st, n) for n, st in zip(shape, stride, strict=True) if n > 1 and st > 0), reverse=True)
        self.empty = 0 in shape
        self.span = 0 if self.empty else 1 + sum(st * (n - 1) for st, n in dims)
        self.dims = self._merge(dims)
        self.dense = self.span == 0 or not self.dims or (len(self.dims) == 1 and self.dims[0][0] == 1)
        inner = 1
        for st, n in reversed(self.dims):
            # Overlapping windows cannot be told apart by division; their whole span counts as the tensor.
            self.dense = self.dense or st < inner
            inner = st * (n - 1) + inner

    @staticmethod
    def _merge(dims: list[tuple[int, int]]) -> list[tuple[int, int]]:
        merged: list[tuple[int, int]] = []
        for st, n in dims:
            if merged and merged[-1][0] == st * n:
                merged[-1] = (st, n * merged[-1][1])
            else:
                merged.append((st, n))
        return merged

    def holds(self, offsets: np.ndarray) -> np.ndarray:
        """True where an offset within the span is an element of the view."""
        inside = np.ones(offsets.shape, dtype=bool)
        for st, n in self.dims:
            quotient, offsets = np.divmod(offsets, st)
            inside &= quotient < n
        inside &= offsets == 0
        return inside


@dataclass
class Region:
    """One pointer argument of a launch. shape, stride: in elements, of ``itemsize`` bytes. given: what the tensor is
    called where the kernel is launched, if that is known (`Emulator`). number: of its virtual range; 0 for a tensor
    that was reached by its real address.
    """

    name: str
    tensor: torch.Tensor  # kept alive while the launch runs
    number: int
    itemsize: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    real: int = field(init=False)
    address: int = field(init=False)  # of its storage
    held: int = field(init=False)  # bytes of its storage
    offset: int = field(init=False)  # of its first element in the storage, in bytes
    dtype: torch.dtype = field(init=False)
    virtual: int = field(init=False)
    layout: AddressLayout = field(init=False)
    loaded: int = 0
    stored: int = 0
    given: str = ""

    def __post_init__(self) -> None:
        self.layout = AddressLayout(self.shape, self.stride)
        storage = self.tensor.untyped_storage()
        self.real, self.dtype = self.tensor.data_ptr(), self.tensor.dtype
        self.address, self.held = storage.data_ptr(), storage.nbytes()
        # Allocations begin at round addresses on a device, wherever this machine put them.
        self.offset = int(self.tensor.storage_offset()) * self.tensor.element_size()
        self.virtual = (self.number << _SHIFT) + _MIDDLE + self.offset
        self.nbytes = self.layout.span * self.itemsize

    @property
    def label(self) -> str:
        """The name in a message: ``x``, or ``x (grads[2])``."""
        return f"{self.name} ({self.given})" if self.given else self.name

    def words(self, dtype: np.dtype[Any]) -> np.ndarray:
        """The memory of the view, from its first to its last element, as an array of ``dtype``."""
        raw = memory(self.real, self.nbytes)
        return raw[: self.nbytes // dtype.itemsize * dtype.itemsize].view(dtype)

    def show(self, value: object) -> str:
        """A stored value as its tensor's dtype reads it."""
        word = np.atleast_1d(np.asarray(value))
        if word.itemsize != self.dtype.itemsize:
            return str(value)
        if self.dtype == torch.bfloat16:
            return str((word.view(np.uint16).astype(np.uint32) << 16).view(np.float32)[0])
        if self.dtype.is_floating_point and word.itemsize == 1:  # NumPy has no float8
            return str(torch.tensor(int(word.view(np.uint8)[0]), dtype=torch.uint8).view(self.dtype).float().item())
        kind = "f" if self.dtype.is_floating_point else "i"
        return str(word.view(f"{kind}{word.itemsize}")[0])


RegionPart = tuple[Region, np.ndarray, np.ndarray | EllipsisType]  # a region, element offsets in it, and which lanes


@dataclass(frozen=True)
class Outside:
    """Lanes that miss their tensor: the first of them and how many."""

    region: Region | None
    address: int
    offset: int  # in elements of the access, from the first element of the region
    lane: int
    lanes: int
    misaligned: bool = False


class AddressSpace:
    """The regions of one launch."""

    def __init__(self) -> None:
        self.regions: list[Region] = []
        self.far = False  # whether an element of a tensor is 2^31 elements or more from its first
        self._reached: list[Region] = []

    def add(
        self, name: str, tensor: torch.Tensor, shape: tuple[int, ...], stride: tuple[int, ...], itemsize: int
    ) -> Region:
        """The region of another argument, with the shape and stride (in elements) that its kernel is given."""
        region = Region(name, tensor, len(self.regions) + _FIRST, itemsize, tuple(shape), tuple(stride))
        self.regions.append(region)
        self.far |= region.layout.span >= 1 << 31
        return region

    def find(self, address: int) -> Region | None:
        """The region from whose argument a virtual address was derived; None if it was derived from none."""
        number = (address >> _SHIFT) - _FIRST
        return self.regions[number] if 0 <= number < len(self.regions) else None

    def of_storage(self, address: int) -> list[Region]:
        """The arguments that lie in a storage, and what was reached there by an address."""
        return [region for region in (*self.regions, *self._reached) if region.address == address]

    def sharing(self, region: Region, offset: int | None = None) -> list[Region]:
        """The other arguments that have an element of a region, too; None: those whose memory overlaps with its own."""
        others = [other for other in self.of_storage(region.address) if other is not region]
        if offset is None:
            end = region.real + region.nbytes
            return [other for other in others if other.real < end and region.real < other.real + other.nbytes]
        byte = region.real + offset * region.itemsize
        return [other for other in others if _has(other, byte - other.real)]

    @property
    def reached(self) -> bool:
        """Returns whether a tensor was reached by an address that a kernel has loaded."""
        return bool(self._reached)

    def reach(self, address: int) -> Region | None:
        """The tensor at a real address: a kernel may load addresses that its caller put into a tensor."""
        if address >> _SHIFT >= _FIRST:
            return None
        for region in self._reached:
            if region.real <= address < region.real + region.nbytes:
                return region
        for thing in self._tensors:
            if 0 <= address - thing.data_ptr() < thing.untyped_storage().nbytes():
                region = Region("a stored address", thing, 0, thing.element_size(), thing.shape, thing.stride())
                region.virtual = region.real
                if address < region.real + region.nbytes:
                    self._reached.append(region)
                    return region
        return None

    @functools.cached_property
    def _tensors(self) -> list[torch.Tensor]:
        """Those of this process: Python lists all of its objects slowly."""
        things = gc.get_objects()
        return [thing for thing in things if type(thing) in (torch.Tensor, torch.nn.Parameter) and _has_memory(thing)]

    def resolve(self, addresses: np.ndarray, itemsize: int) -> list[RegionPart] | Outside:
        """Active lanes by region: ``(region, element offsets, lanes)``; lanes is ``...`` if one region has them all.

        addresses: flat, at least one, of elements of ``itemsize`` bytes.
        """
        first = int(addresses[0])
        region = self.find(first) or self.reach(first)
        if region is not None:
            hit = self._inside(region, addresses, itemsize)
            if isinstance(hit, np.ndarray):
                return [(region, hit, ...)]
            if region.number and ((addresses >> np.uint64(_SHIFT)) == region.number).all():
                return hit
        return self._split(addresses, itemsize)

    def _split(self, addresses: np.ndarray, itemsize: int) -> list[RegionPart] | Outside:
        numbers = addresses >> np.uint64(_SHIFT)
        parts: list[RegionPart] = []
        for number in np.unique(numbers):
            lanes = np.flatnonzero(numbers == number)
            while lanes.size:
                first = int(addresses[lanes[0]])
                region = self.find(first) or self.reach(first)
                if region is None:
                    return Outside(None, first, 0, int(lanes[0]), lanes.size)
                here = lanes if number >= _FIRST else lanes[_between(addresses[lanes], region)]
                hit = self._inside(region, addresses[here], itemsize)
                if isinstance(hit, Outside):
                    return hit
                parts.append((region, hit, here))
                lanes = np.setdiff1d(lanes, here)
        return parts

    @staticmethod
    def _inside(region: Region, addresses: np.ndarray, itemsize: int) -> "np.ndarray | Outside":
        offsets = (addresses - np.uint64(region.virtual)).view(np.int64)
        # As unsigned numbers, offsets before the start are huge: one comparison finds both ends.
        bad = offsets.view(np.uint64) >= np.uint64(max(region.nbytes - itemsize + 1, 0))
        elements = offsets // itemsize if itemsize & (itemsize - 1) else offsets >> (itemsize.bit_length() - 1)
        if not bad.any():
            if itemsize == region.itemsize and region.layout.dense:
                return elements
            if itemsize != region.itemsize and (offsets % itemsize).any():
                lane = int((offsets % itemsize != 0).argmax())
                return Outside(region, int(addresses[lane]), int(elements[lane]), lane, 1, misaligned=True)
            if region.layout.dense:
                return elements
            bad = ~region.layout.holds(offsets // region.itemsize)
            if not bad.any():
                return elements
        lane = int(bad.argmax())
        return Outside(region, int(addresses[lane]), int(elements[lane]), lane, int(bad.sum()))


def distinct(offsets: np.ndarray) -> int:
    """The number of different elements: many lanes that ask for one address are one fetch."""
    if offsets.size < 2 or (offsets[1:] > offsets[:-1]).all():
        return offsets.size
    return np.unique(offsets).size


def _has(region: Region, byte: int) -> bool:
    layout, element = region.layout, np.array([byte // region.itemsize])
    return 0 <= byte < region.nbytes and (layout.dense or bool(layout.holds(element)[0]))


def _between(addresses: np.ndarray, region: Region) -> np.ndarray:
    return (addresses >= np.uint64(region.real)) & (addresses < np.uint64(region.real + region.nbytes))


def _has_memory(tensor: torch.Tensor) -> bool:
    """Returns whether the elements lie in this process: not of tensors without a storage, as sparse ones and those that
    `torch.func` hands to a function, nor on a device.
    """
    if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.numel() == 0:
        return False
    try:
        return tensor.data_ptr() != 0
    except RuntimeError:
        return False
