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


def describe(x: torch.Tensor) -> str:
    """Shape, dtype and device in words, for error messages: ``(3, 5) float32 on cpu``."""
    return f"{tuple(x.shape)} {str(x.dtype).removeprefix('torch.')} on {x.device}"
