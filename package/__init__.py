"""Graded Kernels: a notebook course on numerical bugs in GPU kernels, and the grader that can see them.

graded_kernels.autograder    check, compare, neighbours: README and book/grader.md
graded_kernels.kernels       the Triton answers, a library of differentiable functions
graded_kernels.solutions     the PyTorch answers
graded_kernels.course        what the chapters' notebooks import
"""

from typing import Any


def __getattr__(name: str) -> Any:
    """The version of the installed package, read when it is asked for."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import metadata

    return metadata.version("graded-kernels")
