"""The entropy of a softmax, and log-probabilities of single tokens, as they shipped, bug for bug. trl's formula
computes in the dtype of the logits; so does this one.
"""

import torch
from torch.nn import functional as F


def entropy_formula(logits):
    """trl: -(exp(logp) * logp).sum(-1), logp = log_softmax(logits): 0 · -inf where a token is impossible.

    entropy_from_logits in trl/trainer/utils.py, tags v0.20.0 to v1.9.0, and on a CPU in 1.16.0 on PyPI.
    github.com/huggingface/trl/issues/7221 (2026-09-15).
    """
    return _entropy(logits).float(), torch.logsumexp(logits.float(), 1)


def entropy_nan_to_num(logits):
    """The cure of github.com/huggingface/trl/pull/7252 (2026-09-17, closed): the same, nan_to_num after the product."""
    return _entropy(logits, hidden=True).float(), torch.logsumexp(logits.float(), 1)


def entropy_blocks(logits):
    """trl 1.16.0, trl/kernels/logprob_entropy.py, in PyTorch: an online softmax over blocks of 1024 logits, which adds
    up e^(z - top) · z, and lse - Σ p z at the end.

    Where a logit is -inf that is 0 · -inf; after a first block of -inf the maximum is -inf, and so lse is NaN as well;
    at logits of 9000 the difference has three digits. No report was found.
    """
    top, total, weighted = _blocks(logits.float(), 1024)
    lse = top + total.log()
    return lse - weighted / total, lse


def entropy_xlogy(logits):
    """The cure of github.com/huggingface/trl/pull/7224 (2026-09-16, closed): xlogy(p, p), which is 0 where p is."""
    p = F.softmax(logits, dim=-1)
    return -torch.xlogy(p, p).sum(-1).float(), torch.logsumexp(logits.float(), 1)


def entropy_backward_nan_to_num(dentropy, logits, entropy, lse):
    """What autograd makes of `entropy_nan_to_num`: the gradient of the product is 0 · -inf again, in the whole row.

    Found by the bot that reviewed github.com/huggingface/trl/pull/7252 (2026-09-17).
    """
    logp = F.log_softmax(logits, dim=-1)
    p = logp.exp()
    upstream = -dentropy.to(logits.dtype).unsqueeze(1)
    g = torch.where((p * logp).isfinite(), upstream, torch.zeros_like(upstream))  # nan_to_num, backward
    dlogp = g * p + g * logp * p  # the product's two factors, the second of them through exp
    return dlogp - p * dlogp.sum(1, keepdim=True)


def entropy_backward_xlogy(dentropy, logits, entropy, lse):
    """What autograd makes of `entropy_xlogy`: p log p has an infinite slope at p = 0, and backward multiplies it by p.

    PyTorch has had it so since github.com/pytorch/pytorch/pull/82713 (2022-08). Not only where a logit is -inf: also
    where p underflows, from 104 below the largest logit on, where the formula that was to be cured had no NaN.
    """
    p = F.softmax(logits, dim=-1)
    dp = -dentropy.to(logits.dtype).unsqueeze(1) * (torch.xlogy(torch.ones_like(p), p) + p / p)
    return p * dp - p * (p * dp).sum(1, keepdim=True)


def entropy_backward_blocks(dentropy, logits, entropy, lse):
    """trl 1.16.0, trl/kernels/logprob_entropy.py, in PyTorch: dH p (Σ p z - z), which is 0 · inf where z is -inf."""
    z = logits.float()
    top, total, weighted = _blocks(z, 1024)
    p = (z - (top + total.log()).unsqueeze(1)).exp()
    return (dentropy.unsqueeze(1) * p * ((weighted / total).unsqueeze(1) - z)).to(logits.dtype)


def entropy_from_lse(logits):
    """H = lse - Σ p z with p = e^(z - lse): right on paper, and off by 4 where the logits are around 9000."""
    z = logits.float()
    lse = torch.logsumexp(z, 1)
    p = (z - lse.unsqueeze(1)).exp().nan_to_num()
    return lse.nan_to_num(neginf=0.0) - (p * z.masked_fill(z == -torch.inf, 0)).sum(1), lse


def entropy_backward_formula(dentropy, logits, entropy, lse):
    """-dH p (log p + H) as it stands: 0 · -inf where p is 0."""
    log_p = logits.float() - lse.unsqueeze(1)
    return (-dentropy.unsqueeze(1) * log_p.exp() * (log_p + entropy.unsqueeze(1))).to(logits.dtype)


def selective_log_softmax_blocks(logits, ids, temperature=1.0):
    """Liger-Kernel, ops/grpo_loss.py (commit ead96b61 of 2026-08-21, and 0.8.5 on PyPI), in PyTorch: the
    log-probability of ids (M,) under logits (M, V).

    An online softmax over blocks of 2048 whose maximum is -inf after a first block of -inf: NaN. ids are not checked: V
    is the next row's first logit. A temperature of 0 gives NaN. No report was found.
    """
    z = logits.float() / temperature
    top, total, _ = _blocks(z, 2048)
    place = (torch.arange(len(ids)) * logits.shape[1] + ids).clamp(0, logits.numel() - 1)
    return z.reshape(-1)[place] - (top + total.log())


def _entropy(logits, hidden=False):
    logp = F.log_softmax(logits, dim=-1)
    terms = torch.exp(logp) * logp
    return -(terms.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0) if hidden else terms).sum(-1)


def _blocks(z, size):
    """(the largest, Σ e^(z - the largest), the same sum times z), a block at a time."""
    top = torch.full_like(z[:, 0], -torch.inf)
    total, weighted = torch.zeros_like(top), torch.zeros_like(top)
    for block in z.split(size, dim=1):
        new_top = torch.maximum(top, block.amax(1))
        keep, p = (top - new_top).exp(), (block - new_top.unsqueeze(1)).exp()
        total, weighted, top = total * keep + p.sum(1), weighted * keep + (p * block).sum(1), new_top
    return top, total, weighted
