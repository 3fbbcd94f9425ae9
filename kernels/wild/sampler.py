"""Parts of a sampler as they shipped, bug for bug; the random numbers come in as arguments."""

import torch


def inverse_cdf_a_little_later(probs, u):
    """FlagGems' multinomial with replacement: .0001 is added to the random number, so that a first token of probability
    0 is not chosen at u = 0, and it is held below .9999.

    Of 2f191fec (2024-09-02), in 5.0.2 on PyPI (2026-04); github.com/FlagOpen/FlagGems/pull/4303 (7722e8b06, 2026-07-01)
    compares strictly instead.
    """
    cdf = probs.float().cumsum(0) / probs.float().sum()
    r = (u.float() + 0.0001).clamp(max=0.9999)
    return torch.searchsorted(cdf, r).clamp(max=len(cdf) - 1)


def top_k_probs_by_value(probs, k=2):
    """flashinfer's samplers of the first k: a token is taken where fewer than k are above it, by its probability alone.
    Of tokens that tie for the last place all are taken.

    github.com/flashinfer-ai/flashinfer/pull/3774 (2026-06-30, open): [.4, .3, .3, 0] and k = 2 have three.
    """
    p = probs.float()
    kept = p.where((p.unsqueeze(0) > p.unsqueeze(1)).sum(1) < k, 0)
    return kept / kept.sum()
