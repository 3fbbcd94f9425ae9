"""Says how two versions of the memory that a launch stores to differ."""

import numpy as np
import torch

from ..emulator.address_space import Region
from ..emulator.footprint import BLOCK, Footprint

_WITH_NAN = {torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2}


def element(footprint: Footprint, address: int, byte: int) -> tuple[Region, int] | None:
    """The tensor that holds a byte of the storage at an address, and the offset of its element; None without one."""
    for region in footprint.space.regions:
        offset = (byte - region.offset) // region.itemsize
        if region.address == address and 0 <= offset < region.layout.span:
            return region, offset
    return None


def differing(footprint: Footprint, address: int, number: int, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Says which bytes of a storage's block differ in two versions of it. Two NaN do not, whatever their bits are."""
    differs: np.ndarray = old != new
    for region in footprint.space.regions:
        size = region.dtype.itemsize
        if region.address != address or size != region.itemsize or region.dtype not in _WITH_NAN or not differs.any():
            continue
        start = region.offset - number * BLOCK
        low, high = max(start, start % size), min(start + region.nbytes, old.size)
        if (whole := (high - low) // size * size) > 0:
            words = (torch.from_numpy(array[low : low + whole].copy()).view(region.dtype) for array in (old, new))
            before, after = (word.float().isnan().numpy() for word in words)
            differs[low : low + whole] &= ~np.repeat(before & after, size)
    return differs


def change(footprint: Footprint, address: int, number: int, old: np.ndarray, new: np.ndarray) -> str:
    """The first element that differs in two versions of a storage's block, and how."""
    place = element(footprint, address, number * BLOCK + int(differing(footprint, address, number, old, new).argmax()))
    if place is None:
        return "it stores other values"
    region, offset = place
    at = region.offset + offset * region.itemsize - number * BLOCK
    if not 0 <= at <= old.size - region.itemsize:
        return f"element offset {offset:,} of `{region.name}` changes"
    words = (block[at : at + region.itemsize].view(f"u{region.itemsize}") for block in (old, new))
    before, after = map(region.show, words)
    return f"element offset {offset:,} of `{region.name}` becomes {after} instead of {before}"
