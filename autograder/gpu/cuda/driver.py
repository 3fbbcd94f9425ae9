"""Triton's driver for the simulated GPU, and its benchmark functions, which run once and time nothing."""

import contextlib
import functools
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from triton.backends.compiler import GPUTarget

from ..compiler import KernelLaunch, launch_of
from ..compiler.launches import source_of
from ..compiler.surroundings import Surroundings
from ..devices import Properties
from .placement import GPU
from .streams import current

_WARP = 32


class Driver:
    """Stands for `triton.runtime.driver.active`."""

    def __init__(self, gpu: Properties) -> None:
        self.gpu = gpu
        self.utils = SimpleNamespace(get_device_properties=self._properties)

    def _properties(self, device: int = 0) -> dict[str, int]:
        gpu = self.gpu
        return {
            "max_shared_mem": gpu.shared_memory_per_block_optin,
            "max_num_regs": gpu.regs_per_multiprocessor,
            "multiprocessor_count": gpu.multi_processor_count,
            "warpSize": gpu.warp_size,
            "sm_clock_rate": gpu.clock_rate,
            "mem_clock_rate": gpu.memory_clock_rate,
            "mem_bus_width": gpu.memory_bus_width,
        }

    @staticmethod
    def is_active() -> bool:
        return True

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: int | None = None) -> int:
        return current().cuda_stream

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.gpu.architecture, self.gpu.warp_size)

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return self.gpu.major, self.gpu.minor

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


class CompiledKernel:
    """Stands for what a launch and ``kernel.warmup(...)`` return: programs ask it for registers and shared memory, and
    launch it.

    Both numbers are estimates, since nothing is compiled: 32 registers, and 4 bytes of shared memory for each thread,
    with which a reduction exchanges one float32. code: compiles where a program asks for ``asm``.
    """

    n_regs, n_spills = 32, 0

    def __init__(self, kernel: Any, args: tuple[Any, ...], options: dict[str, Any], code: Callable[..., Any]):
        self._kernel, self._options, warps = kernel, options, options.get("num_warps", 4)
        self._args, self._code = args, code
        parameters = inspect.signature(kernel.fn).parameters.values()
        defaults = {
            parameter.name: parameter.default
            for parameter in parameters
            if parameter.default is not inspect.Parameter.empty
        }
        self.given = {**defaults, **dict(zip(kernel.arg_names, args, strict=False)), **options}
        shared = 4 * _WARP * warps
        self.name = self._name()
        self.metadata = SimpleNamespace(shared=shared, num_warps=warps, name=self.name)

    def _name(self) -> str:
        """The kernel's, which it may derive from the types and constants of a launch (``repr=`` of `triton.jit`)."""
        if derived := self._kernel.kwargs.get("repr"):
            with contextlib.suppress(OSError, TypeError, ValueError):
                launch = self.described()
                types = {**launch.signature, **dict.fromkeys(launch.constants, "constexpr")}
                return str(derived(SimpleNamespace(signature=types, constants={**launch.constants})))
        return str(self._kernel.__name__)

    @functools.cached_property
    def asm(self) -> Any:
        """The code of each stage."""
        return self._code(self.described(), Surroundings(self._kernel.fn).places())

    def described(self) -> KernelLaunch:
        """The launch as the compiler takes it. Raises OSError, TypeError and ValueError where it has no description."""
        kernel = self._kernel
        arguments = [_tensor_like(arg) for arg in self._args]
        options = {name: _tensor_like(option) for name, option in self._options.items()}
        return launch_of(kernel, tuple(arguments), options, source_of(kernel.fn))

    def _init_handles(self) -> None:
        pass

    def __getitem__(self, grid: object) -> Callable[..., Any]:
        """A launch. Its arguments are the kernel's, constants included or not; those are what it was compiled with."""
        constants = [p.name for p in self._kernel.params if p.is_constexpr]
        names = self._kernel.arg_names

        def launch(*args: object, stream: object = None, **named: object) -> Any:
            varying = [name for name in names if name not in constants]
            arguments = dict(zip(names if len(args) > len(varying) else varying, args, strict=False)) | named
            fixed = {name: self.given[name] for name in constants if name in self.given}
            return self._kernel.run(grid=grid, warmup=False, **self._options | arguments | fixed)

        return launch


def _tensor_like(argument: Any) -> Any:
    """A tensor, where `warmup` is given a dtype or what stands for a tensor of one."""
    dtype = argument if isinstance(argument, torch.dtype) else getattr(argument, "dtype", None)
    stands_in = isinstance(dtype, torch.dtype) and not isinstance(argument, torch.Tensor)
    return torch.empty(16, dtype=dtype) if stands_in else argument
