"""Launches of compiled kernels that a GPU, or Triton's launcher, does not make."""

import math
from collections.abc import Iterable

from ..devices import DEVICES, Properties
from .kernel_launch import Json, KernelLaunch
from .targets import Target

_PROGRAMS, _REGISTERS_AT_A_TIME, _KEPT = 32, 8, 1024  # of a multiprocessor; of a thread; bytes beside each program's


def refusal(launches: Iterable[KernelLaunch], target: Target, result: Json) -> str:
    """A sentence on one of these launches of a compiled kernel, which is not made; "" where all are. result: its
    numbers, as `machine_code` has them.
    """
    for launch in launches:
        if message := _without_allocator(launch, result["scratch"] or 0) or _crowded(launch, target, result):
            return message
    return ""


def _without_allocator(launch: KernelLaunch, scratch: int) -> str:
    if not scratch or launch.allocates:
        return ""
    return (
        f"a program needs {scratch:,} bytes of scratch memory, as tensor descriptors made in a kernel do, and Triton's "
        "launcher raises an error without an allocator: call `triton.set_allocator` before"
    )


def _crowded(launch: KernelLaunch, target: Target, result: Json) -> str:
    """The programs of a cooperative grid wait for each other: all have to be on the GPU at a time."""
    gpu = next((gpu for gpu in DEVICES.values() if gpu.architecture == target.arch), None)
    if gpu is None or not launch.options.get("launch_cooperative_grid") or not launch.size:
        return ""
    warps = launch.options.get("num_warps", 4)
    assert isinstance(warps, int)
    programs, each = math.prod(launch.size["grid"]), at_a_time(gpu, warps, result["registers"], result["shared"])
    most = each * gpu.multi_processor_count
    if programs <= most:
        return ""
    return (
        f"a cooperative grid of {programs:,} programs is refused: {target.device} holds {most:,} of them at a time, "
        f"{each} on each of {gpu.multi_processor_count} multiprocessors"
    )


def at_a_time(gpu: Properties, warps: int, registers: int, shared: int) -> int:
    """The number of programs that a multiprocessor holds. registers: of a thread. shared: bytes of a program. Source:
    CUDA C++ programming guide, table of technical specifications per compute capability.
    """
    threads = warps * gpu.warp_size
    allocated = threads * math.ceil(registers / _REGISTERS_AT_A_TIME) * _REGISTERS_AT_A_TIME
    by_shared = gpu.shared_memory_per_multiprocessor // (shared + _KEPT)
    by_registers = gpu.regs_per_multiprocessor // allocated if allocated else _PROGRAMS
    return min(_PROGRAMS, gpu.max_threads_per_multi_processor // threads, by_registers, by_shared)
