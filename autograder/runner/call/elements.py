"""The elements of a tensor: their dtype by name, how many places of memory they span, each of them once, their bits."""

from collections.abc import Callable

import torch

from . import huge_strides

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by their size in bytes


def dtype_name(dtype: torch.dtype) -> str:
    """``float16`` for `torch.float16`."""
    return str(dtype).removeprefix("torch.")


def span(shape: tuple[int, ...], stride: tuple[int, ...]) -> int:
    """Returns the number of elements of memory from the first to the last one, both included."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))


def once(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with each element of its memory once: an expanded dimension has one, overlapping rows are what they
    cover.
    """
    for dim, step in enumerate(tensor.stride()):
        if step == 0 and tensor.shape[dim]:
            tensor = tensor.narrow(dim, 0, 1)
    covered = span(tensor.shape, tensor.stride())
    return tensor.as_strided((covered,), (1,)) if tensor.numel() > covered else tensor


def changed(tensor: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """Returns a tensor of the same layout, with what ``change`` makes of each element of its memory."""
    if huge_strides.is_apart(tensor.shape, tensor.stride()):
        other = huge_strides.far_apart(torch.zeros(tensor.shape, dtype=tensor.dtype))
    else:
        memory = torch.zeros(span(tensor.shape, tensor.stride()), dtype=tensor.dtype)
        other = memory.as_strided(tensor.shape, tensor.stride(), 0)
    once(other).copy_(change(once(tensor)))
    return other


def any_numbers(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Returns other numbers in the same layout: random ones for floats, the same ones in another order for integers."""
    if tensor.is_floating_point():
        return changed(tensor, lambda elements: torch.randn(elements.shape, generator=generator))

    def shuffled(elements: torch.Tensor) -> torch.Tensor:
        order = torch.randperm(elements.numel(), generator=generator)
        return elements.reshape(-1)[order].reshape(elements.shape)

    return changed(tensor, shuffled)


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the elements as integers of their bits: NaN equals itself, and -0 is not 0."""
    size = tensor.dtype.itemsize
    if tensor.dtype.is_complex:
        tensor, size = torch.view_as_real(tensor), size // 2
    return tensor.view(_INTEGERS[size])


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Returns whether two tensors agree in dtype, shape and bits."""
    return a.dtype == b.dtype and a.shape == b.shape and bits(a).equal(bits(b))
