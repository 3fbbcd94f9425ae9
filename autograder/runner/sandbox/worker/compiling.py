"""The role "compiling": the worker imports Triton without its interpreter, and its children compile kernels."""

import json
import os
from typing import Any

from ....gpu import Target, worker


def prepare() -> None:
    """Does in advance what the first compilation would: imports, and the version of NVIDIA's assembler."""
    import triton.compiler.code_generator  # noqa: F401  the compiler imports it when it first compiles
    from triton.backends.compiler import GPUTarget
    from triton.compiler import make_backend

    for target in Target.named():
        make_backend(GPUTarget(target.backend, target.arch, target.warp_size)).hash()


def imported() -> None:
    """Called after `compiler.device_libraries` is imported, for a kernel that may call device functions."""
    from ....gpu import device_libraries

    device_libraries.share()


def run(job: dict[str, Any], inputs: int, outputs: int, status: int, go: int) -> None:
    """job: a request of `compiler.worker.results`. Writes a line for each result, and waits for a line before the next
    one. status, go: descriptors of pipes to write to and to read from.
    """
    for number, result in enumerate(worker.results(job), 1):
        text = json.dumps(result).encode() + b"\n"
        while text:
            text = text[os.write(status, text) :]
        if number < len(job["jobs"]) and not os.read(go, 1):
            return
