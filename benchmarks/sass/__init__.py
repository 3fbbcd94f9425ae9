"""The kernels of a function, compiled and counted without a GPU: `rows` has the calls, and `count` has every launch of
one compiled for one NVIDIA target instead of run (`launches`), and its machine code counted as a check does
(`autograder/gpu/compiler/sass`).
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from graded_kernels.autograder.gpu import Target
from graded_kernels.autograder.gpu.compiler.sass.instructions import thread_of
from graded_kernels.autograder.gpu.compiler.sass.roofline import Kernel

from .launches import compiled

(TARGET,) = Target.named("sm_90")


def count(function: Callable[..., Any], *args: Any, elements: int = 0, products: int = 0, **named: Any) -> list[Kernel]:
    """A `Kernel` for each launch. elements: how many there are; 0: those of its largest tensor. products: operations
    that have to be done; 0: those that its tensor cores do, needed or not.
    """
    kernels = []
    for launch in compiled(function, args, named, TARGET):
        size = replace(launch.size, elements=elements or launch.size.elements)
        thread = asdict(thread_of(launch.code))
        kernel = Kernel.of(launch.kernel, thread, launch.code.warps, launch.shared, size, products)
        notes = (*kernel.notes, *TARGET.refuses(launch.shared))
        kernels.append(replace(kernel, notes=notes))
    return kernels
