"""The clipped policy loss and its gradient as they shipped, bug for bug."""

import torch


def terms(logp, old, advantage, clip):
    """min(ρA, clamp(ρ, 1 - clip, 1 + clip) A) of each token."""
    ratio = (logp.float() - old.float()).exp()
    advantage = advantage.float().unsqueeze(1)
    return torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)


def slopes(logp, old, advantage, clip):
    """The derivative of `terms` by logp as PyTorch takes it: what is clipped is multiplied by 0, and then by ρ."""
    ratio = (logp.float() - old.float()).exp()
    advantage = advantage.float().unsqueeze(1)
    passes = ratio * advantage <= ratio.clamp(1 - clip, 1 + clip) * advantage
    return advantage.where(passes, 0) * ratio


def divisor(mask, count):
    return mask.sum() if count is None else count


def whole_matrix(logp, old, advantage, mask, count=None, clip=0.2):
    """ROLL 0.2.0 to 0.3.0: the sum of the whole matrix, divided by the tokens that count.

    github.com/alibaba/ROLL/pull/444 (2026-05-18, open). Until 0.1.3 it was a masked mean.
    """
    return -terms(logp, old, advantage, clip).sum() / divisor(mask, count)


def whole_matrix_backward(dloss, logp, old, advantage, mask, count=None, clip=0.2):
    """Its gradient: a token that does not count gets as much as one that does."""
    return (-dloss * slopes(logp, old, advantage, clip) / divisor(mask, count)).to(logp.dtype)


def other_sign(logp, old, advantage, mask, count=None, clip=0.2):
    """flash-linear-attention 0.1.0 to 0.5.2, grpo_loss_with_old_logps: minus the loss, which training then increases.

    github.com/fla-org/flash-linear-attention/pull/1076 (2026-08-02). The terms had their minus already.
    """
    return (terms(logp, old, advantage, clip) * mask).sum() / divisor(mask, count)


def other_sign_backward(dloss, logp, old, advantage, mask, count=None, clip=0.2):
    """Its gradient: every step makes good answers less likely."""
    return (dloss * slopes(logp, old, advantage, clip) * mask / divisor(mask, count)).to(logp.dtype)


def mean_of_rows(logp, old, advantage, mask, count=None, clip=0.2):
    """trl's GRPO until 0.16.0: the mean over the rows of each row's own mean.

    github.com/huggingface/trl/pull/2881 (2025-02-17). Wanted by some, as "grpo" beside "bnpo" since 0.17: a convention
    then, which the exercise does not have.
    """
    rows = (terms(logp, old, advantage, clip) * mask).sum(1) / mask.sum(1)
    return -rows.mean()


def product_with_mask(logp, old, advantage, mask, count=None, clip=0.2):
    """(loss * mask).sum() / (mask.sum() + 1e-8): where the mask is 0, 0 · NaN and 0 · inf are NaN.

    github.com/verl-project/verl/pull/6349 (2026-05-14, open), of verl's sequence modes; NeMo-RL's masked_mean has it,
    too.
    """
    n = mask.sum() + 1e-8 if count is None else count
    return -(terms(logp, old, advantage, clip) * mask).sum() / n


def no_guard(logp, old, advantage, mask, count=None, clip=0.2):
    """The formula: 0 · inf where the advantage is 0 and the ratio overflows, 0 / 0 where no token counts."""
    return -terms(logp, old, advantage, clip).where(mask, 0).sum() / divisor(mask, count)


def no_guard_backward(dloss, logp, old, advantage, mask, count=None, clip=0.2):
    """Its gradient as PyTorch takes it: the guard comes after the product, and the NaN passes behind it."""
    return (-dloss * slopes(logp, old, advantage, clip).where(mask, 0) / divisor(mask, count)).to(logp.dtype)


def count_or(logp, old, advantage, mask, count=None, clip=0.2):
    """``count or mask.sum()``: a count of 0 is false, and becomes the number of this batch's own tokens."""
    return -terms(logp, old, advantage, clip).where(mask, 0).sum() / (count or mask.sum().clamp(min=1))


def never_clipped_backward(dloss, logp, old, advantage, mask, count=None, clip=0.2):
    """The gradient of -ρA alone: a token that is clipped gets one as well."""
    slope = (logp.float() - old.float()).exp() * advantage.float().unsqueeze(1)
    return (-dloss * slope.where(mask, 0) / divisor(mask, count)).to(logp.dtype)
