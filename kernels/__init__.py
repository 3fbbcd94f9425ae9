"""The Triton answers, as a library of differentiable functions: ``from graded_kernels.kernels import silu``."""

from .attention_function import attention
from .cross_entropy_function import cross_entropy
from .gelu import gelu
from .layer_norm import layer_norm
from .linear_cross_entropy_function import linear_cross_entropy
from .masked_softmax import masked_softmax
from .rms_norm import rms_norm
from .silu import silu
from .swiglu import swiglu

__all__ = [
    "attention",
    "cross_entropy",
    "gelu",
    "layer_norm",
    "linear_cross_entropy",
    "masked_softmax",
    "rms_norm",
    "silu",
    "swiglu",
]
