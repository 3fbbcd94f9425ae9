"""The estimator k3 of a KL divergence as it shipped, bug for bug, and its gradient."""

import torch


def kl_formula(logp, ref):
    """e^r - r - 1, r = ref - logp, in float32: near r = 0 nothing is left of r²/2.

    trl/trainer/grpo_trainer.py (v1.9.0, and 1.16.0 on PyPI); Liger-Kernel, ops/grpo_loss.py (commit ead96b61, and 0.8.5
    on PyPI).
    """
    r = ref.float() - logp.float()
    return (torch.exp(r) - r - 1).to(logp.dtype)


def kl_formula_reordered(logp, ref):
    """The same as e^r - 1 - r: the difference from 1 is exact, and what e^r has lost is all of r²/2 nevertheless."""
    r = ref.float() - logp.float()
    return (torch.exp(r) - 1 - r).to(logp.dtype)


def kl_backward_formula(dkl, logp, ref):
    """What autograd makes of it: -dkl (e^r - 1), with the digits of r that are left next to 1."""
    r = ref.float() - logp.float()
    return (-dkl.float() * (torch.exp(r) - 1)).to(logp.dtype)


def kl_expm1(logp, ref):
    """expm1(r) - r: the digits of expm1 are those of r, and r is taken away."""
    r = ref.float() - logp.float()
    return (torch.expm1(r) - r).to(logp.dtype)


def clamped_kl_after(logp, ref):
    """OpenRLHF compute_approx_kl, k3: exp first, clamp(min=-10, max=10) on the result. Its gradient is 0 · inf = NaN.

    The clamp came in 0.8.6 (commit d90b3d1f, 2025-07-08) and stood like this in 0.11.0 (2026-08-13). Pull request 1160
    (2025-12-17) was closed; github.com/OpenRLHF/OpenRLHF/pull/1335 (2026-09-11) bounds the argument.
    """
    log_ratio = logp.float() - ref.float()
    log_ratio = (-log_ratio).exp() - 1 + log_ratio
    return log_ratio.clamp(min=-10, max=10).to(logp.dtype)


def clamped_kl_ten(logp, ref):
    """The cure of github.com/OpenRLHF/OpenRLHF/pull/1160 (2025-12-17, closed): r between -10 and 10 before exp. No NaN,
    and from r = -10.99 to -10, where k3 is below the cap, another value and no gradient.
    """
    log_ratio = (ref.float() - logp.float()).clamp(min=-10, max=10)
    return (log_ratio.exp() - 1 - log_ratio).clamp(min=-10, max=10).to(logp.dtype)
