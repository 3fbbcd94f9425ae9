"""A token drawn from a softmax by the Gumbel-max trick, in PyTorch.

    argmax_j (z_j + g_j),   g_j = -log(-log u_j)

logits: (M, V)   u: (M, V) float32, uniform numbers from 0 to 1   result: (M,) int64. With u uniform, class j is drawn
with probability e^z_j / Σ e^z: Gumbel 1954; Maddison et al. 2014, arXiv:1411.0030. A random number has a grid: u stands
for the numbers around it, and neither 0 nor 1 is one that was drawn. u below 2^-32 counts as 2^-32, and -log u is at
least 2^-32, so that g is from -3.1 to 22.2: the largest and the smallest that a 32-bit number gives.
"""

import torch

# %% gumbel_argmax
GRID = 2.0**-32  # of a random number of 32 bits


def gumbel_argmax(logits: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """(M,) int64: the class in each row of logits (M, V) with the largest logit + -log(-log u), the first of equals.

    u: (M, V) float32, from 0 to 1; u counts as at least 2^-32, and so does -log u. A logit of -inf is never chosen: a
    row of -inf alone gives -1. Computed in float32 at least; no logit is NaN. Strides: any.
    """
    exponential = -u.clamp(min=GRID).log()
    score = logits - exponential.clamp(min=GRID).log()  # float32, as u is
    return score.argmax(1).masked_fill(score.amax(1) == -torch.inf, -1)


# %% gumbel_witness
def gumbel_witness() -> tuple[torch.Tensor, torch.Tensor]:
    """(logits, u): finite logits (M, V) and u from 0 to 1 on which sglang's sampler is off by more than 0: a
    wrong class.
    At most 65,536 elements in all.
    """
    return torch.tensor([[0.0, -100.0]]), torch.tensor([[0.5, 1.0]])
