"""Isolation: answers run in a worker process that holds nothing worth stealing and can do nothing but compute.

    probe()        what works on this machine, and which rung of the ladder that makes; printable
    require(rung)  raises SandboxError below it: "good" for a class, "weak" for one's own code
    Compiler       compiles kernels for GPUs, as isolated as an answer
    Isolated       the runner; Limits, what a call may take; Budget, what answers may take together; Worker, to share
                   between answers

A PyTorch answer is watched: the operator that is the answer is taken out of its process, other roundabout ways are not.
A Triton answer is proven: its kernels alone, on numbers the rest of it never saw, give what it gave.

Out of reach of any of this: faults of the kernel of the operating system and of GPU drivers, and side channels. Whoever
has to expect those grades each class in a virtual machine or a container of its own.
"""

from .answers import Worker
from .compiler import Compiler
from .isolated import Isolated
from .probe import RUNGS, Layer, Probe, SandboxError, probe, require
from .watch import Budget, Limits

__all__ = ["RUNGS", "Budget", "Compiler", "Isolated", "Layer", "Limits", "Probe", "SandboxError", "Worker", "probe"]
__all__ += ["require"]
