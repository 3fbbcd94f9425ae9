"""Elementwise functions on a CPU: in float64, in blocks that stay in a core's cache, and half precision from a table.

A float32 number is exact in float64, where no formula of these functions overflows or cancels within float32's range:
the definition is computed as it is written, without a choice between two formulas, which PyTorch computes one element
at a time. Every element is rounded once, and its bits do not depend on its place.
"""

import functools
from collections.abc import Callable

import torch

Elementwise = Callable[..., torch.Tensor]

BLOCK = 2**15  # elements that a thread computes at a time


def elementwise(in_float64: Elementwise, answer: Elementwise, *tensors: torch.Tensor) -> torch.Tensor:
    """in_float64 of tensors of one shape, in the dtype of the first one. It may write into its arguments.

    The answer of the course computes what is float64 itself, or on another device. What is traced, as by torch.compile,
    is traced whole.
    """
    first = tensors[0]
    if not first.is_cpu or first.dtype == torch.float64:
        return answer(*tensors)
    if torch.compiler.is_compiling() or any(type(x) not in (torch.Tensor, torch.nn.Parameter) for x in tensors):
        return in_float64(*(x.double() for x in tensors)).to(first.dtype)
    result = torch.empty(first.shape, dtype=first.dtype, device=first.device)
    step = BLOCK * torch.get_num_threads()
    for part, *parts in zip(*(x.contiguous().view(-1).split(step) for x in (result, *tensors)), strict=True):
        if len(parts) == 1 and first.dtype.itemsize == 2:
            values = _every_half(in_float64, first.dtype)
            torch.index_select(values, 0, parts[0].view(torch.uint16).int(), out=part)
        else:
            part.copy_(in_float64(*(x.double() for x in parts)))
    return result


@functools.cache
def _every_half(in_float64: Elementwise, dtype: torch.dtype) -> torch.Tensor:
    """in_float64 of the 65,536 numbers of a dtype of 16 bits, in the order of their bits."""
    every = torch.arange(2**16, dtype=torch.int32, device="cpu").to(torch.uint16).view(dtype)
    return in_float64(every.double()).to(dtype)
