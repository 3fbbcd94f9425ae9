"""Factors that make the mean over all tokens of the means of micro-batches.

    mean = 1/R Σ_r Σ_a w_ra m_ra,   w_ra = R n_ra / Σ n

n, w: (R, A), the tokens of micro-batch a on rank r and its factor   m_ra: the mean of the losses of those tokens. A
trainer adds up the A micro-batches of a step; data parallelism takes the mean of the gradients over the R ranks.
"""

import torch


# %% accumulation_weights
def accumulation_weights(tokens: torch.Tensor) -> torch.Tensor:
    """(R, A) float32 for tokens (R, A) int64: what each micro-batch's mean is multiplied by, before the A means of a
    rank are added up and the R sums averaged, to give the mean over all tokens. Zeros where there is no token.
    """
    total = tokens.sum().clamp(min=1)  # without a token 0 / 1
    return (tokens * tokens.shape[0] / total.double()).float()


# %% accumulation_witness
def accumulation_witness() -> tuple[torch.Tensor]:
    """(tokens,), int64: counts (R, A) on which the mean of the micro-batches' means has a factor that is off by
    more than 1 % of the largest right factor.
    At most 65,536 elements in all.
    """
    return (torch.tensor([[5, 1]]),)
