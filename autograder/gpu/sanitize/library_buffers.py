"""Says what a launch takes besides tensors: objects of a library's own with ``data_ptr()`` and ``dtype``."""

import math
from typing import Any

import torch
from triton.runtime.jit import TensorWrapper

from ..emulator.launch import Inside


def is_buffer(value: Any) -> bool:
    """Returns whether a launcher would take this argument's pointer, though it is no tensor of PyTorch's."""
    return hasattr(value, "data_ptr") and not isinstance(value, torch.Tensor | TensorWrapper)


def as_tensor(buffer: Any) -> torch.Tensor | Inside | None:
    """The elements that a buffer stands for, in the memory of a tensor that it holds; None where it holds no such
    tensor. With a negative stride its pointer is that of an element behind others.
    """
    pointer, strides = buffer.data_ptr(), _called(getattr(buffer, "stride", None))
    for held in getattr(buffer, "__dict__", {}).values():
        if not isinstance(held, torch.Tensor):
            continue
        storage = held.untyped_storage()
        start, size = pointer - storage.data_ptr(), buffer.dtype.itemsize
        if not 0 <= start < storage.nbytes() or start % size:
            continue
        shape = getattr(buffer, "shape", None)
        if shape is None or strides is None:
            shape, strides = ((storage.nbytes() - start) // size,), (1,)
        steps = [(n - 1) * -stride for n, stride in zip(shape, strides, strict=True) if stride < 0]
        before = sum(steps) if math.prod(shape) else 0
        if before > start // size:
            continue
        place = start // size - before, tuple(shape), tuple(map(abs, strides))
        view = torch.empty(0, dtype=buffer.dtype).set_(storage, *place)
        return Inside(view, before) if before else view
    return None


def _called(value: Any) -> Any:
    return value() if callable(value) else value
