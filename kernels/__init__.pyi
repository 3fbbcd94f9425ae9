# Written by `make build`.
from .adamw_step_function import adamw_step as adamw_step
from .attention_function import attention as attention
from .clip_by_global_norm_function import clip_by_global_norm as clip_by_global_norm
from .cross_entropy_function import cross_entropy as cross_entropy
from .entropy import entropy as entropy
from .gelu import gelu as gelu
from .gumbel_argmax_function import gumbel_argmax as gumbel_argmax
from .kl import kl as kl
from .layer_norm import layer_norm as layer_norm
from .linear_cross_entropy_function import linear_cross_entropy as linear_cross_entropy
from .masked_softmax import masked_softmax as masked_softmax
from .policy_loss import policy_loss as policy_loss
from .rms_norm import rms_norm as rms_norm
from .rotary import rotary as rotary
from .silu import silu as silu
from .softcap import softcap as softcap
from .swiglu import swiglu as swiglu

__all__: list[str]
