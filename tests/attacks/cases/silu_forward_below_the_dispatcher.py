# exercise: silu_forward
# backend: torch
# expect: nothing
# trouble: unloadable
"""Calls PyTorch's own kernel by its address, where no operator is dispatched."""

import ctypes
from pathlib import Path

import torch

library = ctypes.CDLL(Path(torch.__file__).parent / "lib/libtorch_cpu.so")
silu_out = library._ZN2at3cpu8silu_outERNS_6TensorERKS1_


def handle(tensor):
    """The address of the C++ object within Python's."""
    return ctypes.c_void_p(id(tensor) + object.__basicsize__)


def silu_forward(x):
    y = torch.empty_like(x)
    silu_out(handle(y), handle(x))
    return y
