"""Operators on fake tensors of a GPU ask PyTorch for the current device, which fails where there is no CUDA.

PyTorch keeps an object for each type of device that answers, in a table of libc10 (c10/core/impl/
DeviceGuardImplInterface.h). The CPU's has nothing to switch; while kernels are generated it stands for CUDA's.
"""

import contextlib
import ctypes
from collections.abc import Iterator
from pathlib import Path

import torch

_TABLE = "_ZN3c104impl26device_guard_impl_registryE"
_CPU, _CUDA = 0, 1  # c10/core/DeviceType.h


@contextlib.contextmanager
def of_cpu() -> Iterator[None]:
    """Has the CPU's device guard stand for CUDA's in the block; nothing changes where PyTorch has no such table."""
    try:
        library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10.so"))
        table = (ctypes.c_void_p * 2).in_dll(library, _TABLE)
    except (OSError, ValueError):
        yield
        return
    before, table[_CUDA] = table[_CUDA], table[_CPU]
    try:
        yield
    finally:
        table[_CUDA] = before
