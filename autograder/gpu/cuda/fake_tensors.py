"""Fake tensors, with which compilers trace: that of a tensor on the GPU is on the GPU.

PyTorch asks for the current device where an operator meets such a tensor, which fails where there is no CUDA. For each
type of device an object answers, in a table of libc10 (c10/core/impl/DeviceGuardImplInterface.h); the CPU's, which has
nothing to switch, stands for CUDA's.
"""

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from ..borrowed import DisableTorchFunction, fake_tensor, meta_utils
from .placement import GPU, on_gpu

_TABLE = "_ZN3c104impl26device_guard_impl_registryE"
_CPU, _CUDA = 0, 1  # c10/core/DeviceType.h


@contextlib.contextmanager
def on_the_gpu() -> Iterator[None]:
    """Has the fake of a tensor on the GPU be there, too. Nothing changes where PyTorch has no table of that name."""
    try:
        library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libc10.so"))
        table = (ctypes.c_void_p * 2).in_dll(library, _TABLE)
    except (OSError, ValueError):
        yield
        return
    before, table[_CUDA] = table[_CUDA], table[_CPU]
    described: Callable[..., Any] = meta_utils.MetaTensorDescriber.describe_tensor

    def describe(describer: Any, tensor: torch.Tensor, **options: Any) -> Any:
        description = described(describer, tensor, **options)
        with DisableTorchFunction():
            there = type(tensor) in (torch.Tensor, torch.nn.Parameter) and on_gpu(tensor)
        return replace(description, device=GPU) if there else description

    try:
        with (
            patch.object(meta_utils.MetaTensorDescriber, "describe_tensor", describe),
            patch.object(fake_tensor, "init_gpu_context", lambda device: None),
        ):
            yield
    finally:
        table[_CUDA] = before
