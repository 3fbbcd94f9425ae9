"""Triton's driver for the simulated GPU, and its benchmark functions, which run once and time nothing."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from triton.backends.compiler import GPUTarget

from .placement import GPU
from .runtime import PROPERTIES

_PROPERTIES = {
    "max_shared_mem": PROPERTIES.shared_memory_per_block_optin,
    "max_num_regs": PROPERTIES.regs_per_multiprocessor,
    "multiprocessor_count": PROPERTIES.multi_processor_count,
    "warpSize": PROPERTIES.warp_size,
    "sm_clock_rate": 1410000,
    "mem_clock_rate": 1593000,
    "mem_bus_width": 5120,
}


class Driver:
    """Stands for `triton.runtime.driver.active`."""

    def __init__(self) -> None:
        self.utils = SimpleNamespace(get_device_properties=lambda device=0: dict(_PROPERTIES))

    @staticmethod
    def is_active() -> bool:
        return True

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 80, 32)

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return 8, 0

    def get_active_torch_device(self) -> torch.device:
        return GPU

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_benchmarker(self) -> Callable[..., Any]:
        return once

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        return torch.empty(0)

    def clear_cache(self, cache: object) -> None:
        pass


def once(
    fn: Callable[[], object],
    *args: object,
    quantiles: list[float] | None = None,
    return_mode: str = "mean",
    **options: object,
) -> float | list[float]:
    """Stands for `triton.testing.do_bench`: calls ``fn`` once, and returns a millisecond for each time asked for."""
    fn()
    if quantiles is not None:
        return [1.0] * len(quantiles) if len(quantiles) > 1 else 1.0
    return [1.0] if return_mode == "all" else 1.0


class Compiled:
    """Stands for what ``kernel.warmup(...)`` returns: scripts ask it for registers and shared memory, and launch it."""

    n_regs, n_spills = 32, 0

    def __init__(self, kernel: Any, options: dict[str, Any]):
        self._kernel, self._options = kernel, options
        self.metadata = SimpleNamespace(shared=0, num_warps=options.get("num_warps", 4), name=kernel.__name__)

    def _init_handles(self) -> None:
        pass

    def __getitem__(self, grid: object) -> Callable[..., Any]:
        return lambda *args, **options: self._kernel.run(*args, grid=grid, warmup=False, **options)
