"""Triton, where it is installed; elsewhere stand-ins, so that every op still imports and runs through PyTorch."""

import math
from typing import Any

import torch

from .autograd import check_mode

try:
    import triton
    import triton.language as tl
except ModuleNotFoundError as missing:
    if missing.name != "triton":
        raise

    class _Absent:
        """Stands where a Triton module would. A kernel can be defined with it, and says what is missing when
        launched.
        """

        @staticmethod
        def constexpr(value):
            return value

        def jit(self, function):
            return self

        def __getitem__(self, grid):
            raise ModuleNotFoundError("Triton is not installed: pip install triton (Linux; on Windows use WSL2)")

        def __call__(self, *args, **kwargs):
            return self

    triton = tl = _Absent()


def use_triton(x: torch.Tensor) -> bool:
    """Whether x goes through Triton: on CUDA, unless it is float64, in which no kernel here computes."""
    return x.is_cuda and x.dtype != torch.float64 and hasattr(triton, "runtime")


def in_full(x: torch.Tensor) -> torch.autocast:
    """Switches autocast off on x's device: it would round PyTorch's matrix products to half precision, and these ops
    compute in float32, as their kernels do.
    """
    return torch.autocast(x.device.type, enabled=False)


def as_matrix(x: torch.Tensor) -> torch.Tensor:
    """x of any shape (..., N) as a matrix (M, N). PyTorch does not work out a size of -1 where another one is 0."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def expanded(x: torch.Tensor) -> bool:
    """Whether several elements of x are one number in memory: what is written to one of them is written to all."""
    return any(not stride and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True))


def describe(x: torch.Tensor) -> str:
    """Shape, dtype and device in words, for error messages: ``(3, 5) float32 on cpu``."""
    return f"{tuple(x.shape)} {str(x.dtype).removeprefix('torch.')} on {x.device}"


def check_tensors(op: str, axes: int = 0, /, **given: Any) -> None:
    """Raises TypeError for what is not a tensor, ValueError where the first tensor is not floating point or has fewer
    axes, or another one lies on another device, and NotImplementedError in forward mode. A kernel would round its
    result to integers, take an address for one of its own device's, or lose the tangent.
    """
    (name, x), *rest = given.items()
    others = [(argument, value) for argument, value in rest if value is not None]
    for argument, value in ((name, x), *others):
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{op}: {argument} must be a tensor, not {type(value).__name__}")
    assert isinstance(x, torch.Tensor)
    if not x.is_floating_point():
        raise ValueError(f"{op}: {name} must be floating point; it is {describe(x)}: {name}.float() makes it float32")
    if x.dim() < axes:
        raise ValueError(f"{op}: {name} is (..., N), with a last axis at least; it is {describe(x)}")
    for other, y in others:
        if y.device != x.device:
            raise ValueError(f"{op}: {name} is {describe(x)}, so {other} must be on {x.device}; it is {describe(y)}")
    check_mode(op, x, *(value for _, value in others))
