"""Isolation: answers run in a worker process that contains no secrets and can do nothing but compute.

    probe()        which mechanisms work on this machine, and the level of isolation they give; printable
    require(level)  raises SandboxError below this level: "good" for a class, "weak" for one's own code
    Compiler       compiles kernels for GPUs, as isolated as an answer
    Isolated       the runner; Limits, of one call; Budget, of several calls; Worker, which several answers can share

For a PyTorch answer, the operators that would be the answer are disabled in its process; other detours are not.
For a Triton answer there is a proof: its kernels alone, on numbers that the rest of it never saw, give the same result.

Not covered: vulnerabilities of the operating system's kernel and of GPU drivers, and side channels. Where these are a
concern, grade each class in a virtual machine or a container of its own.
"""

from typing import TYPE_CHECKING

from ...words import lazy_api
from .answers import Worker
from .probe import LEVELS, Layer, Probe, SandboxError, probe, require
from .watch import Budget, Limits

if TYPE_CHECKING:
    from .compiler import Compiler
    from .isolated import Isolated

__all__ = ["LEVELS", "Budget", "Compiler", "Isolated", "Layer", "Limits", "Probe", "SandboxError", "Worker", "probe"]
__all__ += ["require"]

# On first use, and PyTorch with it: a worker can start first and do its own imports in parallel.
__getattr__ = lazy_api(__name__, __file__)
