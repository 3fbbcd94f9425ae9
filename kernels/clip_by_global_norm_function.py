"""The clipping of gradients by their common norm, as a training script imports it: CUDA by Triton, elsewhere
PyTorch.
"""

import torch

from ..solutions import gradient_norm as cpu
from .gradient_norm import global_norm
from .language import describe, expanded, use_triton


@torch.no_grad()
def clip_by_global_norm(grads: list[torch.Tensor], max_norm: float) -> torch.Tensor:
    """Multiplies all gradients by min(1, max_norm / norm), in place. Returns norm, their 2-norm before, float32.

    grads: a list of floating-point tensors of one device, of any shapes, strides and dtypes. max_norm: 0 or more; 0
    makes all gradients 0. Squares are taken and added up in float32, and each gradient is multiplied in float32.
    An infinite or NaN norm makes every gradient NaN, where `torch.nn.utils.clip_grad_norm_` makes finite ones 0.
    ValueError, and nothing is written, for another max_norm, a tensor that is not floating point or is expanded, and
    two devices.
    """
    grads = list(grads)
    for index, g in enumerate(grads):
        name = f"clip_by_global_norm: grads[{index}]"
        if not g.is_floating_point():
            raise ValueError(f"{name} must be floating point; it is {describe(g)}")
        if g.device != grads[0].device:
            raise ValueError(f"{name} must be on the device of grads[0], {grads[0].device}; it is {describe(g)}")
        if expanded(g):
            raise ValueError(f"{name} is expanded, with strides {g.stride()}: make it contiguous first")
    if not max_norm >= 0:
        raise ValueError(f"clip_by_global_norm: max_norm must be 0 or more; it is {max_norm}")
    norm = (global_norm if grads and all(map(use_triton, grads)) else cpu.global_norm)(grads)
    coefficient = cpu.clip_coefficient(norm, max_norm)
    for g in grads:
        g.copy_(g.to(torch.promote_types(g.dtype, torch.float32)) * coefficient)  # which float16 may not hold
    return norm
