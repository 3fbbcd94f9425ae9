"""The Triton answers, as a library of differentiable functions: ``from graded_kernels.kernels import silu``."""

from .silu import silu
from .swiglu import swiglu

__all__ = ["silu", "swiglu"]
