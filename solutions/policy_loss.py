"""The clipped policy loss over the tokens that count, in PyTorch.

    loss  = -Σ min(ρA, clamp(ρ, 1 - clip, 1 + clip) A) / count,   ρ = e^(logp - old)
    dlogp = -dloss ρA / count where ρA <= clamp(ρ) A, 0 elsewhere

logp, old, mask, dlogp: (M, N), M samples of N tokens   advantage: (M,)   loss, dloss: scalars. The sum is over the
tokens where mask is True; count is their number, or a number that is given. Schulman et al. 2017, arXiv:1707.06347. In
float32 (float64 for float64), rounded once at the end. What mask leaves out is replaced before anything is computed
from it.
"""

import torch


# %% policy_loss_forward
def ratio_and_end(
    logp: torch.Tensor, old: torch.Tensor, advantage: torch.Tensor, mask: torch.Tensor, clip: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """(ρ, A, the end of the interval on A's side, whether ρ lies beyond it), each (M, N)."""
    wide = torch.promote_types(logp.dtype, torch.float32)
    A = advantage.to(wide).unsqueeze(1)
    ratio = (logp.to(wide) - old.to(wide)).where(mask & (A != 0), 0).exp()  # 0 · inf is NaN
    end = torch.where(A > 0, 1 + clip, 1 - clip)
    return ratio, A, end, torch.where(A > 0, ratio > end, ratio < end)


def over_count(total: torch.Tensor, mask: torch.Tensor, count: float | None) -> torch.Tensor:
    """total / count, or 0 where count is 0."""
    items = mask.sum() if count is None else torch.as_tensor(count, dtype=total.dtype, device=total.device)
    return torch.where(items > 0, total / items, 0)


def policy_loss_forward(
    logp: torch.Tensor,
    old: torch.Tensor,
    advantage: torch.Tensor,
    mask: torch.Tensor,
    count: float | None = None,
    clip: float = 0.2,
) -> torch.Tensor:
    """-Σ min(ρA, clamp(ρ, 1 - clip, 1 + clip) A) / count where mask is True, ρ = e^(logp - old): a float32 scalar.

    count: a number; None: how many elements of mask are True. 0 where count is 0, and no term where A is 0. Strides:
    any for logp, old and mask; advantage is contiguous.
    """
    ratio, A, end, beyond = ratio_and_end(logp, old, advantage, mask, clip)
    terms = torch.where(beyond, end, ratio) * A
    return over_count(-terms.where(mask, 0).sum(), mask, count)


# %% policy_loss_backward
def policy_loss_backward(
    dloss: torch.Tensor,
    logp: torch.Tensor,
    old: torch.Tensor,
    advantage: torch.Tensor,
    mask: torch.Tensor,
    count: float | None = None,
    clip: float = 0.2,
) -> torch.Tensor:
    """dlogp, like logp: -dloss ρA / count where mask is True and ρA <= clamp(ρ) A, 0 elsewhere.

    Where mask is True and ρA is NaN, so is dlogp. 0 <= clip < 1: both ends are part of the interval.
    """
    ratio, A, _, beyond = ratio_and_end(logp, old, advantage, mask, clip)
    slope = over_count(-dloss, mask, count) * A * ratio
    return slope.where(mask & ~beyond, 0).to(logp.dtype)
