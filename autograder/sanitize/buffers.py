"""What a launch takes besides tensors: objects of a library's own with ``data_ptr()`` and ``dtype``."""

from typing import Any

import torch
from triton.runtime.jit import TensorWrapper


def is_buffer(value: Any) -> bool:
    """Whether a launcher would take this argument's pointer, though it is no tensor of PyTorch's."""
    return hasattr(value, "data_ptr") and not isinstance(value, torch.Tensor | TensorWrapper)


def as_tensor(buffer: Any) -> torch.Tensor | None:
    """The elements that a buffer stands for, in the memory of a tensor that it holds; None where it holds no such
    tensor, or has a negative stride.
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
        if min(strides, default=0) < 0:
            return None
        return torch.empty(0, dtype=buffer.dtype).set_(storage, start // size, tuple(shape), tuple(strides))
    return None


def _called(value: Any) -> Any:
    return value() if callable(value) else value
