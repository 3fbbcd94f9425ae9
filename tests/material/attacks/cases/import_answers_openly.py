# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: refused
"""Imports the course's own answer."""

from graded_kernels.solutions.silu import silu_backward  # noqa: F401
