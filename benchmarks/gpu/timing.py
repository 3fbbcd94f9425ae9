"""A call's time on the device, and the two numbers of the device that it is compared with."""

from collections.abc import Callable

import torch
import triton.testing

QUANTILES = [0.25, 0.5, 0.75]
COPIED = 512 << 20  # bytes, ten times an L2 cache


def milliseconds(call: Callable[[], object]) -> list[float]:
    """The quartiles of a call's time. Triton's `do_bench` writes over the L2 cache before each call, and its time
    between two events has the gap before a launch in it: a time below 10 microseconds says little of a kernel.
    """
    return triton.testing.do_bench(call, warmup=25, rep=100, quantiles=QUANTILES)


def copy_bandwidth(size: int = COPIED) -> float:
    """Bytes a second that a copy reads and writes, the most that any kernel here can hope for."""
    source = torch.zeros(size, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * size / (milliseconds(lambda: target.copy_(source))[1] / 1e3)


def matmul_flops(dtype: torch.dtype, side: int = 8192) -> float:
    """Operations a second of PyTorch's matrix product, in float32 without TF32, which is PyTorch's default."""
    a, b = (torch.randn(side, side, device="cuda", dtype=dtype) for _ in range(2))
    return 2 * side**3 / (milliseconds(lambda: a @ b)[1] / 1e3)
