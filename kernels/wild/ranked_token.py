"""The token of a rank as it shipped, bug for bug."""

import torch


def ranked_token_by_value(logits, rank):
    """tokenspeed's sampler in Triton: the draw gives a rank, the rank gives a logit, and the token is the first that
    has this logit. Of tokens with equal logits the later ones are never drawn.

    Found by a model that reviewed github.com/lightseekorg/tokenspeed/pull/280 (2026-05-27), and merged.
    """
    value = logits.sort(1, descending=True).values.gather(1, rank.unsqueeze(1))
    return torch.where(logits == value, torch.arange(logits.shape[1]), logits.shape[1]).amin(1)
