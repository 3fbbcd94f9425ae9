"""Isolation: answers run in a worker process that holds nothing worth stealing and can do nothing but compute.

    probe()        what works on this machine, and which rung of the ladder that makes; printable
    require(rung)  raises SandboxError below it: "good" for a class, "weak" for one's own code
    Compiler       compiles kernels for GPUs, as isolated as an answer
    Isolated       the runner; Limits, what a call may take; Budget, what answers may take together; Worker, to share
                   between answers

A PyTorch answer is watched: the operators that are the answer are disabled in its process; other detours are not.
A Triton answer is proven: its kernels alone, on numbers that the rest of it never saw, give the same result.

Not covered: vulnerabilities of the operating system's kernel and of GPU drivers, and side channels. Where these must be
expected, grade each class in a virtual machine or a container of its own.
"""

import importlib
from typing import TYPE_CHECKING

from .answers import Worker
from .probe import RUNGS, Layer, Probe, SandboxError, probe, require
from .watch import Budget, Limits

if TYPE_CHECKING:
    from .compiler import Compiler
    from .isolated import Isolated

__all__ = ["RUNGS", "Budget", "Compiler", "Isolated", "Layer", "Limits", "Probe", "SandboxError", "Worker", "probe"]
__all__ += ["require"]

_HOME = {"Compiler": "compiler", "Isolated": "isolated"}


def __getattr__(name: str):
    """Imported when asked for, PyTorch with it: a worker starts before, and imports its own meanwhile."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
