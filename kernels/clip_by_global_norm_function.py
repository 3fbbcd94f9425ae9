"""The clipping of gradients by their common norm, as a training script imports it: CUDA by Triton, elsewhere
PyTorch.
"""

import torch

from ..solutions import gradient_norm as cpu
from .gradient_norm import global_norm
from .language import describe, use_triton


@torch.no_grad()
def clip_by_global_norm(grads, max_norm):
    """Multiplies all gradients by min(1, max_norm / norm), in place. Returns norm, their 2-norm before, float32.

    grads: a list of floating-point tensors of one device, of any shapes, strides and dtypes. max_norm: 0 or more; 0
    makes all gradients 0. Squares are taken and added up in float32, and each gradient is multiplied in float32.
    An infinite or NaN norm makes every gradient NaN, where `torch.nn.utils.clip_grad_norm_` makes finite ones 0.
    ValueError, and nothing is written, for another max_norm, a tensor that is not of floating point, and two devices.
    """
    grads = list(grads)
    for index, g in enumerate(grads):
        if not g.is_floating_point() or g.device != grads[0].device:
            wanted = "gradients are floating point and on one device"
            raise ValueError(
                f"clip_by_global_norm: {wanted}; grads[0] is {describe(grads[0])}, grads[{index}] {describe(g)}"
            )
    if not max_norm >= 0:
        raise ValueError(f"clip_by_global_norm: max_norm must be 0 or more; it is {max_norm}")
    norm = (global_norm if grads and all(map(use_triton, grads)) else cpu.global_norm)(grads)
    coefficient = cpu.clip_coefficient(norm, max_norm)
    for g in grads:
        g.copy_(g.to(torch.promote_types(g.dtype, torch.float32)) * coefficient)  # which float16 may not hold
    return norm
