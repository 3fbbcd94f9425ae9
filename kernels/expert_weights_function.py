"""The weights of chosen experts as a model imports them: CUDA by Triton, elsewhere PyTorch."""

import torch
from torch import Tensor

from ..solutions import expert_weights as cpu
from .autograd import Function, gradient
from .expert_weights import expert_weights_backward, expert_weights_forward
from .language import as_matrix, check_tensors, describe, use_triton


@torch.library.custom_op("graded_kernels::expert_weights", mutates_args=())
def weights_of(logits: Tensor, experts: Tensor, scale: float) -> Tensor:
    return (expert_weights_forward if use_triton(logits) else cpu.expert_weights_forward)(logits, experts, scale)


@torch.library.custom_op("graded_kernels::expert_weights_backward", mutates_args=())
def logit_gradients(dweights: Tensor, logits: Tensor, experts: Tensor, weights: Tensor, scale: float) -> Tensor:
    backward = expert_weights_backward if use_triton(logits) else cpu.expert_weights_backward
    return backward(dweights, logits, experts, weights, scale)


weights_of.register_fake(
    lambda logits, experts, scale: logits.new_empty(
        experts.shape, dtype=torch.promote_types(logits.dtype, torch.float32)
    )
)
logit_gradients.register_fake(lambda dweights, logits, *_: torch.empty_like(logits))


class ExpertWeightsFunction(Function):
    """Over a matrix of tokens. Saves logits, experts and weights."""

    @staticmethod
    def forward(logits, experts, scale):
        return weights_of(logits, experts, scale)

    @staticmethod
    def setup_context(ctx, inputs, output):
        logits, experts, ctx.scale = inputs
        ctx.save_for_backward(logits, experts, output)

    @staticmethod
    def backward(ctx, dweights):
        return gradient("expert_weights", logit_gradients, dweights, *ctx.saved_tensors, ctx.scale), None, None


def expert_weights(logits: torch.Tensor, experts: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    """scale · σ(x_i) / Σ_j σ(x_j) over the experts chosen for each token, float32, differentiable once in logits.

    logits: (..., E)   experts: (..., k) int64, -1 for a place without an expert; float64 for float64 logits. Sigmoids
    may underflow. CUDA: Triton, for which the host waits once; elsewhere PyTorch. The op is opaque to torch.compile.
    Raises IndexError for an expert that is neither -1 nor one of E, ValueError for shapes, dtypes and devices that do
    not fit, and for a scale that is not above 0. DeepSeek-AI 2024, arXiv:2412.19437, section 2.1.2.
    """
    check_tensors("expert_weights", 1, logits=logits, experts=experts)
    if experts.dtype != torch.int64 or experts.dim() != logits.dim() or experts.shape[:-1] != logits.shape[:-1]:
        wanted = f"expert_weights: logits are {describe(logits)}, so experts must be {(*logits.shape[:-1], 'k')} int64"
        raise ValueError(f"{wanted}; they are {describe(experts)}")
    if not logits.shape[-1]:
        raise ValueError(f"expert_weights: logits are (..., E) with an expert at least; they are {describe(logits)}")
    if not 0 < scale < float("inf"):
        raise ValueError(f"expert_weights: scale must be finite and above 0; it is {scale}")
    weights = ExpertWeightsFunction.apply(as_matrix(logits), as_matrix(experts).contiguous(), float(scale))
    return weights.reshape(experts.shape)
