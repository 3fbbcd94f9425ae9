"""One step of AdamW in PyTorch, in place, and the factor by which its bias corrections change the learning rate.

    m = β₁ m + (1 - β₁) g          m̂ = m / (1 - β₁^t)
    v = β₂ v + (1 - β₂) g²         v̂ = v / (1 - β₂^t)
    w = w - lr λ w - lr m̂ / (√v̂ + ε)

g: the gradient of the weights w   m, v: running means of g and g², float32   t: the step, from 1 on, an integer   λ:
weight decay, of the weight as it came in. Kingma and Ba 2014, arXiv:1412.6980; Loshchilov and Hutter 2017,
arXiv:1711.05101; `torch.optim.AdamW`. Float32 inside, each weight rounded once at the end.
"""

import torch


# %% bias_correction
def bias_correction(steps: torch.Tensor, beta1: float = 0.9, beta2: float = 0.999) -> torch.Tensor:
    """√(1 - β₂^t) / (1 - β₁^t) in float32, for each t of steps: int64 of any shape, from 1 on."""
    t = steps.double()
    return ((1 - beta2**t).sqrt() / (1 - beta1**t)).float()


# %% counter_witness
def counter_witness() -> tuple[torch.Tensor]:
    """(steps,), int64: a step at which a counter in bfloat16, which ends at 256, makes AdamW's steps less than half as
    long: its factor is off by more than half of the right factor.
    At most 65,536 elements in all.
    """
    steps = torch.arange(1, 10_000)
    counted = steps.clamp(max=256)
    return (steps[bias_correction(steps) > 2 * bias_correction(counted)][:1],)


# %% adamw_step
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
    """One step of AdamW, into param, m and v. All four of one shape; m and v float32, param and grad of any floating
    dtype. step: an integer, 1 at the first call.

    Strides: any for grad; param, m and v are contiguous.
    """
    g = grad.to(m.dtype)
    m.mul_(beta1).add_(g, alpha=1 - beta1)
    v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    denominator = (v / (1 - beta2**step)).sqrt_().add_(eps)
    w = param.to(m.dtype) * (1 - lr * weight_decay)
    param.copy_(w.addcdiv_(m, denominator, value=-lr / (1 - beta1**step)))
