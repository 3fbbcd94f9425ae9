"""Matrix products whose ``out_dtype`` is wider than their factors, which PyTorch has for GPUs alone.

They compute what aten/native/cuda/Blas.cpp does: factors in half precision are summed in float32, and the sum is
rounded to ``out_dtype`` once.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..borrowed import scoped_library
from .placement import on_gpu

_HALF = (torch.float16, torch.bfloat16)


@contextlib.contextmanager
def simulated() -> Iterator[None]:
    """Adds `mm`, `bmm`, `addmm` and `baddbmm` with ``out_dtype`` for tensors on the simulated GPU."""
    with scoped_library("aten", "IMPL") as library:
        for name in ("mm", "bmm", "addmm", "baddbmm"):
            function = _with_addend(name) if "add" in name else _of_factors(name)
            library.impl(f"{name}.dtype", function, "CPU")
            library.impl(f"{name}.dtype_out", _into(function), "CPU")
        yield


def _of_factors(name: str) -> Callable[..., torch.Tensor]:
    def multiplied(a: torch.Tensor, b: torch.Tensor, out_dtype: torch.dtype) -> torch.Tensor:
        _require(name, a, b, out_dtype)
        with torch.autocast("cpu", enabled=False):
            product: torch.Tensor = getattr(torch, name)(_wide(a), _wide(b))
        return product.to(out_dtype)

    return multiplied


def _with_addend(name: str) -> Callable[..., torch.Tensor]:
    def added(
        addend: torch.Tensor,
        a: torch.Tensor,
        b: torch.Tensor,
        out_dtype: torch.dtype,
        *,
        beta: float = 1,
        alpha: float = 1,
    ) -> torch.Tensor:
        _require(name, a, b, out_dtype)
        if addend.dtype not in (out_dtype, a.dtype):
            raise RuntimeError("self dtype must match either out_dtype or mat1 dtype")
        with torch.autocast("cpu", enabled=False):
            total: torch.Tensor = getattr(torch, name)(_wide(addend), _wide(a), _wide(b), beta=beta, alpha=alpha)
        return total.to(out_dtype)

    return added


def _into(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def stored(*args: Any, out: torch.Tensor, **options: Any) -> torch.Tensor:
        result = function(*args, **options)
        if out.dtype != result.dtype:
            raise RuntimeError("out_dtype must be the same as the dtype of the provided out tensor")
        return out.resize_(result.shape).copy_(result)

    return stored


def _require(name: str, a: torch.Tensor, b: torch.Tensor, out_dtype: torch.dtype) -> None:
    if not (on_gpu(a) and on_gpu(b)):
        raise NotImplementedError(f"Could not run 'aten::{name}.dtype' with arguments from the 'CPU' backend.")
    if a.dtype != b.dtype:
        raise RuntimeError("mat1 and mat2 must have the same dtype")
    if out_dtype != a.dtype and not (out_dtype == torch.float32 and a.dtype in _HALF):
        raise RuntimeError("out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs")


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in _HALF else tensor
