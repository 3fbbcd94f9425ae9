"""A launch as it is recorded: what a kernel was given, and how it was launched."""

from dataclasses import dataclass
from typing import Any

import torch
from triton.runtime.jit import TensorWrapper


@dataclass(frozen=True)
class Argument:
    """One argument of a launch, as Triton's specialisation sees it.

    kind: ``tensor | scalar | constexpr | none | other`` (a tuple or a tensor descriptor).
    type: Triton's signature string, such as ``*bf16``, ``i32``, ``fp32``; "constexpr" for constexprs and None.
    value: the number or the constexpr's value; None for a tensor.
    divisible: an integer, or a tensor's offset in its allocation in bytes, is a multiple of 16. A device allocates at
        such multiples; where this machine put the allocation does not count.
    """

    name: str
    kind: str
    type: str
    value: Any = None
    dtype: str = ""
    shape: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    divisible: bool = False


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel: its grid, its arguments in order, and options such as num_warps.

    kernel: the Python function under ``@triton.jit``, as it was written.
    """

    kernel: Any
    name: str
    grid: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    options: tuple[tuple[str, Any], ...] = ()


class Inside(TensorWrapper):  # type: ignore[misc]  # of a library without types
    """A tensor with a pointer into it: ``before`` elements come before the one that it points at."""

    def __init__(self, base: torch.Tensor, before: int):
        super().__init__(base, base.dtype)
        self.before = before
