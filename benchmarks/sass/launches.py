"""The launches of a function, compiled for a GPU that is not there, and not run."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import torch
import triton
from graded_kernels.autograder.gpu import Target
from graded_kernels.autograder.gpu.compiler.sass.instructions import CompiledLaunch
from graded_kernels.autograder.gpu.compiler.sass.roofline import Size
from triton.backends.compiler import GPUTarget
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction


@dataclass(frozen=True)
class Launch:
    """One launch. size: of what its tensors hold, each once. shared: bytes a program."""

    kernel: str
    code: CompiledLaunch
    size: Size
    shared: int


def compiled(function: Callable[..., Any], args: tuple, named: dict[str, Any], target: Target) -> list[Launch]:
    """What ``function(*args, **named)`` launches. Its tensors hold whatever memory held: nothing is computed, now or
    later in the process. A number that it asks of a tensor is the largest: no index is found to be a bad one.

    Of an autotuned kernel the first configuration is taken, since to time the others takes a GPU.
    """
    with _compiling(target) as launches, patch.object(torch.Tensor, "item", lambda _: sys.maxsize):
        function(*args, **named)
    return launches


@contextlib.contextmanager
def _compiling(target: Target) -> Iterator[list[Launch]]:
    launches: list[Launch] = []
    run, tuned = JITFunction.run, Autotuner.run

    def compile_only(self, *values, grid, warmup, **options):
        made = run(self, *values, grid=grid, warmup=True, **options)
        bound = {**dict(zip(self.arg_names, values, strict=False)), **options}
        sizes = (*(grid(bound) if callable(grid) else grid), 1, 1)[:3]
        about = made.metadata
        code = CompiledLaunch(made.asm["ttir"], made.asm["cubin"], bound, sizes, about.num_warps)
        launches.append(Launch(about.name, code, _size(bound, sizes), about.shared))
        return made

    def first_configuration(self, *values, **options):
        return self.fn.run(*values, **options, **self.configs[0].all_kwargs())

    triton.runtime.driver.set_active(_driver(target))
    JITFunction.run, Autotuner.run = compile_only, first_configuration
    try:
        yield launches
    finally:
        JITFunction.run, Autotuner.run = run, tuned


def _size(bound: dict[str, Any], grid: tuple[int, ...]) -> Size:
    tensors = list({one.data_ptr(): one for one in bound.values() if torch.is_tensor(one)}.values())
    elements = max((one.numel() for one in tensors), default=1)
    return Size(grid, {}, elements, sum(one.numel() * one.element_size() for one in tensors))


def _driver(target: Target) -> type:
    """Stands for the GPU that Triton asks about before it compiles."""

    class Driver:
        get_current_target = staticmethod(lambda: GPUTarget(target.backend, target.arch, target.warp_size))
        get_current_device = get_current_stream = staticmethod(lambda *_: 0)

    return Driver
