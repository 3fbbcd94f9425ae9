"""The estimator k3 of a KL divergence in PyTorch.

    kl    = e^r - 1 - r,   r = ref - logp
    dlogp = -dkl (e^r - 1)

Elementwise over any shape, in float32 (float64 for float64 input), rounded once at the end. Near r = 0 the terms cancel
down to r²/2, so there the series of (e^r - 1 - r) / r² is summed. Where both are -inf, both results are 0: a token that
is impossible for two models is no difference between them. Schulman 2020, "Approximating KL Divergence".
"""

import torch


# %% kl_forward
def log_ratio(logp: torch.Tensor, ref: torch.Tensor) -> torch.Tensor:
    """ref - logp, and 0 where both are -inf."""
    dtype = torch.promote_types(logp.dtype, torch.float32)
    both = (logp == -torch.inf) & (ref == -torch.inf)
    return (ref.to(dtype) - logp).masked_fill(both, 0)


def series(r: torch.Tensor) -> torch.Tensor:
    """(e^r - 1 - r) / r² = 1/2! + r/3! + r²/4! + ... for |r| < 1, to the last digit of float64 (float32: up to 12)."""
    total = torch.ones_like(r)
    for k in range(20, 2, -1):
        total = 1 + r / k * total
    return total / 2


def kl_forward(logp: torch.Tensor, ref: torch.Tensor) -> torch.Tensor:
    """kl = e^r - 1 - r, r = ref - logp, elementwise. logp and ref of one shape and dtype; kl too.

    0 where both are -inf; inf where one of them is, or where e^r overflows. Strides: any for logp and ref.
    """
    r = log_ratio(logp, ref)
    far = torch.where(r == torch.inf, r, r.exp() - 1 - r)  # inf - inf is NaN
    return torch.where(r.abs() < 1, r * r * series(r), far).to(logp.dtype)


# %% kl_backward
def kl_backward(dkl: torch.Tensor, logp: torch.Tensor, ref: torch.Tensor) -> torch.Tensor:
    """dlogp = -dkl (e^r - 1), r = ref - logp, elementwise. dkl, logp and ref of one shape and dtype; dlogp too.

    0 where both are -inf, and where dkl is 0. Strides: any for dkl, logp and ref.
    """
    r = log_ratio(logp, ref)
    return torch.where(dkl == 0, 0, -dkl * torch.expm1(r)).to(logp.dtype)  # 0 * inf is NaN


# %% clamped_kl
def clamped_kl(logp: torch.Tensor, ref: torch.Tensor) -> torch.Tensor:
    """min(e^r - 1 - r, 10), r = ref - logp, elementwise, with a finite gradient everywhere: 0 above the cap.

    The cap is passed at r = 2.61 and at r = -10.99998; beyond both r is bounded before exp, so that nothing overflows.
    """
    r = (ref - logp).clamp(-12, 4)
    return (r.exp() - 1 - r).clamp(max=10)
