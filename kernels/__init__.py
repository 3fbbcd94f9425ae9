"""The Triton answers, as a library of differentiable functions: ``from graded_kernels.kernels import silu``.

Several are called as their module is. The function has the name: a module takes it only when it is first imported, and
each one is by the line that exports its function.
"""

from .adamw_step_function import adamw_step
from .attention_function import attention
from .clip_by_global_norm_function import clip_by_global_norm
from .cross_entropy_function import cross_entropy
from .decay_scan_function import decay_scan
from .entropy import entropy
from .expert_weights_function import expert_weights
from .gelu import gelu
from .gumbel_argmax_function import gumbel_argmax
from .kl import kl
from .layer_norm import layer_norm
from .linear_cross_entropy_function import linear_cross_entropy
from .masked_softmax import masked_softmax
from .moe_sum_function import moe_sum
from .policy_loss import policy_loss
from .rms_norm import rms_norm
from .rotary import rotary
from .scales_function import quantize_blocks, quantize_mx, scaled_matmul
from .silu import silu
from .softcap import softcap
from .swiglu import swiglu

__all__ = [
    "adamw_step",
    "attention",
    "clip_by_global_norm",
    "cross_entropy",
    "decay_scan",
    "entropy",
    "expert_weights",
    "gelu",
    "gumbel_argmax",
    "kl",
    "layer_norm",
    "linear_cross_entropy",
    "masked_softmax",
    "moe_sum",
    "policy_loss",
    "quantize_blocks",
    "quantize_mx",
    "rms_norm",
    "rotary",
    "scaled_matmul",
    "silu",
    "softcap",
    "swiglu",
]
