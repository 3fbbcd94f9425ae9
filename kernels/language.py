"""Triton, where it is installed; elsewhere stand-ins, so that every op still imports and runs through PyTorch."""

import torch

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

        constexpr = None

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


def sole(y: torch.Tensor) -> torch.Tensor:
    """y as ``forward`` of an autograd function returns it: under torch.compile a tensor that is nothing else there.

    PyTorch 2.11.0 compiles a gradient of 0 where the output is an intermediate tensor, too, as after ``.to`` of the
    dtype that it has: ``return (x * x).to(x.dtype)`` shows it; 2.13.0 is right.
    """
    return y.clone() if torch.compiler.is_compiling() else y


def describe(x: torch.Tensor) -> str:
    """Shape, dtype and device in words, for error messages: ``(3, 5) float32 on cpu``."""
    return f"{tuple(x.shape)} {str(x.dtype).removeprefix('torch.')} on {x.device}"
