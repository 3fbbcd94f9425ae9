"""One step of AdamW as a training script imports it: in place, CUDA by Triton, elsewhere PyTorch."""

import torch

from ..solutions import adamw as cpu
from .adamw import adamw_step as adamw_step_triton
from .language import describe, expanded, use_triton


@torch.no_grad()
def adamw_step(
    param: torch.Tensor,
    grad: torch.Tensor,
    m: torch.Tensor,
    v: torch.Tensor,
    step: int,
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> None:
    """One step of AdamW, into param, m and v, as `torch.optim.AdamW` takes it.

        m = β₁ m + (1 - β₁) g,   v = β₂ v + (1 - β₂) g²
        w = w (1 - lr λ) - lr · m / (1 - β₁^t) / (√(v / (1 - β₂^t)) + ε)

    param: any floating dtype, rounded once a step   grad: of its shape, any floating dtype   m, v: of its shape,
    float32 (float64 for float64 weights), zeros before the first step   step: t, an integer, 1 at the first call
    weight_decay: λ. Any strides. Computed in the dtype of m and v.
    ValueError, and nothing is written, where a shape, a dtype, a device or a number does not fit.
    """
    _check_tensors(param, grad, m, v)
    _check_numbers(step, lr, beta1, beta2, eps, weight_decay)
    written = (param, m, v)
    w, first, second = (tensor.contiguous() for tensor in written)
    one_step = adamw_step_triton if use_triton(param) else cpu.adamw_step
    one_step(w, grad, first, second, step, lr, beta1, beta2, eps, weight_decay)
    for tensor, result in zip(written, (w, first, second), strict=True):
        if result is not tensor:
            tensor.copy_(result)


def _check_tensors(param, grad, m, v):
    if not param.is_floating_point() or not grad.is_floating_point():
        raise ValueError(f"adamw_step: param and grad are floating point; they are {param.dtype} and {grad.dtype}")
    for name, x in (("grad", grad), ("m", m), ("v", v)):
        if x.shape != param.shape or x.device != param.device:
            wanted = f"adamw_step: param is {describe(param)}, so {name} must be of its shape and on its device"
            raise ValueError(f"{wanted}; it is {describe(x)}")
    dtype = torch.promote_types(param.dtype, torch.float32)
    for name, x in (("m", m), ("v", v)):
        if x.dtype != dtype:
            raise ValueError(f"adamw_step: {name} must be {dtype} for weights of {param.dtype}; it is {x.dtype}")
    for name, x in (("param", param), ("m", m), ("v", v)):
        if expanded(x):
            raise ValueError(f"adamw_step: {name} is expanded, with strides {x.stride()}: make it contiguous first")


def _check_numbers(step, lr, beta1, beta2, eps, weight_decay):
    if not isinstance(step, int) or step < 1:
        raise ValueError(f"adamw_step: step is an integer, 1 at the first call; it is {step!r}")
    for name, beta in (("beta1", beta1), ("beta2", beta2)):
        if not 0 <= beta < 1:
            raise ValueError(f"adamw_step: {name} must be 0 or more and less than 1; it is {beta}")
    for name, number in (("lr", lr), ("eps", eps), ("weight_decay", weight_decay)):
        if not number >= 0:
            raise ValueError(f"adamw_step: {name} must be 0 or more; it is {number}")
