"""The weights of the experts that a router chose, in PyTorch: one for each place of a token.

    w_i  = scale · σ(x_i) / Σ_j σ(x_j)                  i, j the experts of the token, x its logits
    dx_i = σ(-x_i) · w_i · (dw_i - Σ_j w_j dw_j / scale)

logits: (T, E)   experts: (T, k) int64, -1 for a place without an expert   weights, dweights: (T, k) float32. In float32
(float64 for float64 logits), rounded once at the end. σ(x) is e^min(x, 0) / (1 + e^-|x|), and w does not change where
every e^min(x, 0) is multiplied by one number: so nothing underflows that counts. It is a softmax of log σ.
"""

import torch


# %% expert_weights_forward
def check_experts(experts: torch.Tensor, E: int) -> None:
    """Raises IndexError, with the first token that has one and its value, where an expert is neither -1 nor of E."""
    bad = (experts != -1) & ((experts < 0) | (experts >= E))
    if bad.any():
        token, place = (int(index) for index in bad.nonzero()[0])
        raise IndexError(f"experts[{token}, {place}] is {experts[token, place]}: no expert, 0 to {E - 1}, and not -1")


def chosen(logits: torch.Tensor, experts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(the logits of the experts in float32 or float64, which places have an expert)."""
    there = experts != -1
    x = logits.gather(1, experts.where(there, 0))
    return x.to(torch.promote_types(x.dtype, torch.float32)), there


def expert_weights_forward(logits: torch.Tensor, experts: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    """(T, k) float32: scale · σ(x_i) / Σ_j σ(x_j) over the experts of a token, x their logits; σ may underflow.

    -1 is a place without an expert: weight 0, whatever else the token has, and not in the sum. Raises IndexError for
    an expert that is not one of E, with the first such token, row by row, and its value. logits: any strides; experts,
    (T, k) int64, is contiguous, and but for -1 those of a token are distinct. T and k may be 0. scale is above 0.
    """
    check_experts(experts, logits.shape[1])
    x, there = chosen(logits, experts)
    if not x.numel():
        return x
    below = x.clamp(max=0).masked_fill(~there, -torch.inf)  # log σ, but for log(1 + e^-|x|)
    sigma = (below - below.amax(1, keepdim=True)).exp() / (1 + (-x.abs()).exp())
    sigma = sigma.masked_fill(~there, 0)
    weights = scale * (sigma / sigma.sum(1, keepdim=True))
    return weights.masked_fill(~there, 0)  # of a token without an expert it is 0 / 0


# %% expert_weights_backward
def expert_weights_backward(
    dweights: torch.Tensor, logits: torch.Tensor, experts: torch.Tensor, weights: torch.Tensor, scale: float = 1.0
) -> torch.Tensor:
    """dlogits, like logits, from what expert_weights_forward returned; exactly 0 where no expert was chosen.

    What dweights and weights hold at a place of -1 does not matter, NaN included. dweights, (T, k) float32, and logits:
    any strides; experts and weights are contiguous, and every expert is valid. T and k may be 0.
    """
    x, there = chosen(logits, experts)
    w, dw = weights.masked_fill(~there, 0), dweights.masked_fill(~there, 0)
    slope = w * (dw - (w * dw).sum(1, keepdim=True) / scale)
    dx = (slope * (-x).sigmoid()).masked_fill(~there, 0)  # 1 - σ(x) would cancel
    return torch.zeros_like(logits, dtype=dx.dtype).scatter_add(1, experts.where(there, 0), dx).to(logits.dtype)
