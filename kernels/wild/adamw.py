"""One step of AdamW and its bias corrections, as they shipped, bug for bug. The state is float32, as in the course."""

import torch


def bias_correction_counter(steps, beta1=0.9, beta2=0.999):
    """torchao: the counter is torch.tensor(0.0), of the default dtype, and 1 is added to it before each step.

    With torch.set_default_dtype(torch.bfloat16) it ends at 256, whose neighbour is 258. _AdamBase.step in
    torchao/optim/adam.py (before, in torchao/prototype/low_bit_optim), tags v0.4.0 to v0.18.0.
    github.com/pytorch/ao/pull/4915 (2026-09-18, open). torchao 0.18.0 from PyPI, on a CPU: 1000 steps of 0.001 with a
    constant gradient take a weight from 1 to 0.204. Reported of DeepSpeed's ZenFlow, too: DeepSpeed#8496 (2026-09-13).
    """
    return _factor(steps.clamp(max=256).double(), beta1, beta2)


def bias_correction_first(steps, beta1=0.9, beta2=0.999):
    """OLMo-core, SkipStepAdamW: the step is read and never incremented, so that each one is corrected as the first.

    adamw_step in src/olmo_core/optim/adamw.py, tags v1.8.0 to v2.1.0; right since v2.2.0 (c41962aba, 2025-06-30,
    github.com/allenai/OLMo-core/pull/309), with an option that brings it back (#317). With OLMo's betas of 0.9 and 0.95
    it lengthens late steps 2.2 times; with 0.999 it makes them 3.2 times too short.
    """
    return _factor(torch.ones_like(steps).double(), beta1, beta2)


def bias_correction_bfloat16_betas(steps, beta1=0.9, beta2=0.999):
    """With betas that were cut off to bfloat16: 0.999 is 0.99609375, and so is 0.9999.

    Reported of tt-metal's moreh_adam, github.com/tenstorrent/tt-metal/issues/55935 (2026-09-09): its moments have such
    betas, see `adamw_step_bfloat16_betas`.
    """
    return _factor(steps.double(), _cut_off(beta1), _cut_off(beta2))


def bias_correction_none(steps, beta1=0.9, beta2=0.999):
    """mlx, Adam and AdamW up to v0.21.0: no correction. Since v0.21.1 there is an option, off by default to v0.32.1.

    python/mlx/optimizers/optimizers.py. github.com/ml-explore/mlx/pull/1640 (2024-12-03).
    """
    return torch.ones(steps.shape)


def bias_correction_no_root(steps, beta1=0.9, beta2=0.999):
    """(1 - β₂^t) / (1 - β₁^t): v is a mean of squares, and its root divides the gradient."""
    t = steps.double()
    return ((1 - beta2**t) / (1 - beta1**t)).float()


def adamw_step_counter(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    """torchao's step whose counter is bfloat16: see `bias_correction_counter`."""
    _step(param, grad, m, v, min(step, 256), lr, beta1, beta2, eps, weight_decay)


def adamw_step_first(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    """OLMo-core's step that is never counted: see `bias_correction_first`."""
    _step(param, grad, m, v, 1, lr, beta1, beta2, eps, weight_decay)


def adamw_step_half(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    """optax, scale_by_adam: everything in the dtype of the gradients, m / (sqrt(v) + eps) with an eps of that dtype.

    In float16 1e-8 is 0, and a zero gradient gives 0 / 0. optax/_src/transform.py, tags v0.1.0 to v0.2.8.
    github.com/google-deepmind/optax/issues/1754 (2026-08-16, open); #1784 and #1789 for optimizers beside it. optax
    0.2.8 from PyPI makes NaN, -inf, 0.99 and 1 of a weight of 1, for first gradients of 0, 1e-4, 1 and 300 and a rate
    of 0.01.
    """
    d = grad.dtype
    new_m = (1 - beta1) * grad + beta1 * m.to(d)
    new_v = (1 - beta2) * grad.square() + beta2 * v.to(d)
    correction1, correction2 = (torch.tensor(1 - beta**step, dtype=d) for beta in (beta1, beta2))
    update = (new_m / correction1) / ((new_v / correction2).sqrt() + torch.tensor(eps, dtype=d))
    param.copy_(param + torch.tensor(-lr, dtype=d) * (update + torch.tensor(weight_decay, dtype=d) * param.to(d)))
    m.copy_(new_m)
    v.copy_(new_v)


def adamw_step_decay_after(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    """bitsandbytes on CUDA, kOptimizer32bit2State: the updated weight is multiplied by 1 - lr λ, and so is the update.

    csrc/kernels.cu, tags 0.32.1 to 0.50.1; the CPU, default and Triton backends decay first.
    github.com/bitsandbytes-foundation/bitsandbytes/issues/2010 (2026-07-17, open), cure in #2040 (open).
    """
    w = param.float()
    _step(w, grad, m, v, step, lr, beta1, beta2, eps, 0.0)
    param.copy_(w * (1 - lr * weight_decay))


def adamw_step_scaled_rate(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    """Both corrections in the learning rate, lr √(1 - β₂^t) / (1 - β₁^t), by which the decay is multiplied as well; eps
    is added to the root of v as it is. A reviewer saw the formula in github.com/Oneflow-Inc/oneflow/pull/5960 (2021).
    """
    rate = lr * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
    new_m, new_v = _moments(grad, m, v, beta1, beta2)
    w = param.float()
    param.copy_(w - rate * (new_m / (new_v.sqrt() + eps) + weight_decay * w))


def adamw_step_bfloat16_betas(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    """The moments with betas that were cut off to bfloat16, and the corrections with the exact ones.

    Reported of tt-metal's moreh_adamw, github.com/tenstorrent/tt-metal/issues/55935 (2026-09-09).
    """
    new_m, new_v = _moments(grad, m, v, _cut_off(beta1), _cut_off(beta2))
    update = new_m / (1 - beta1**step) / ((new_v / (1 - beta2**step)).sqrt() + eps)
    param.copy_(param.float() * (1 - lr * weight_decay) - lr * update)


def adamw_step_coupled(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    """Adam with λ w added to the gradient: L2 regularisation, which m and v see."""
    _step(param, grad.float() + weight_decay * param.float(), m, v, step, lr, beta1, beta2, eps, 0.0)


def adamw_step_eps_in_the_root(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    """m̂ / √(v̂ + ε), as in a norm. 10^-8 in there is 10^-4 outside."""
    new_m, new_v = _moments(grad, m, v, beta1, beta2)
    update = new_m / (1 - beta1**step) / (new_v / (1 - beta2**step) + eps).sqrt()
    param.copy_(param.float() * (1 - lr * weight_decay) - lr * update)


def adamw_step_rounded_counter(param, grad, m, v, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    """A step that is handed over in bfloat16: every second one from 256 on, every fourth from 512 on."""
    step = torch.tensor(float(step), dtype=torch.bfloat16).item()
    _step(param, grad, m, v, step, lr, beta1, beta2, eps, weight_decay)


def _step(param, grad, m, v, step, lr, beta1, beta2, eps, weight_decay):
    new_m, new_v = _moments(grad, m, v, beta1, beta2)
    update = new_m / (1 - beta1**step) / ((new_v / (1 - beta2**step)).sqrt() + eps)
    param.copy_(param.float() * (1 - lr * weight_decay) - lr * update)


def _moments(grad, m, v, beta1, beta2):
    g = grad.float()
    m.copy_(beta1 * m + (1 - beta1) * g)
    v.copy_(beta2 * v + (1 - beta2) * g * g)
    return m, v


def _factor(t, beta1, beta2):
    return ((1 - beta2**t).sqrt() / (1 - beta1**t)).float()


def _cut_off(number):
    """To bfloat16, towards 0."""
    bits = torch.tensor(number, dtype=torch.float32).view(torch.int32) & -65536
    return bits.view(torch.float32).item()
