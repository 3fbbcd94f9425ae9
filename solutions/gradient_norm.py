"""The norm of all gradients of a model, and what they are multiplied by where it is too large, in PyTorch.

    norm = √(Σ over all tensors Σ g²)      coefficient = min(1, max_norm / norm)

Squares and their sum in float32, whatever dtype the gradients have. Pascanu et al. 2012, arXiv:1211.5063;
`torch.nn.utils.clip_grad_norm_`.
"""

import math

import torch


# %% global_norm
def global_norm(grads: list[torch.Tensor]) -> torch.Tensor:
    """The 2-norm of all numbers in grads, a list of tensors of any shapes, strides and floating dtypes: float32, shape
    (). One that is in it twice counts twice. Of an empty list 0.
    """
    total = torch.zeros(())
    for g in grads:
        total = total + g.float().square().sum()
    return total.sqrt()


# %% clip_coefficient
def clip_coefficient(norm: torch.Tensor, max_norm: float) -> torch.Tensor:
    """min(1, max_norm / norm) in float32, elementwise. norm: float32 of any shape. max_norm: a number, 0 or above.

    NaN where norm is infinite or NaN: no factor makes these gradients right. max_norm 0 gives 0, also where norm is 0.
    ValueError: max_norm is negative or NaN.
    """
    if not max_norm >= 0:
        raise ValueError(f"max_norm is {max_norm}: give 0 or a positive number")
    coefficient = torch.where(norm > max_norm, max_norm / norm, float(max_norm > 0))
    return coefficient.masked_fill(~norm.isfinite(), math.nan)


# %% norm_witness
def norm_witness() -> tuple[torch.Tensor]:
    """(grad,), finite: its norm is finite in its dtype too, and inf where the sum of squares is rounded to that dtype
    before the root; off by more than 1 % of the norm.
    At most 65,536 elements in all.
    """
    return (torch.full((9,), 100.0, dtype=torch.float16),)
