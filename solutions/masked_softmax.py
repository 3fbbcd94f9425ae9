"""Softmax over those elements of a row that a mask leaves, in PyTorch.

    y_ij  = e^(x_ij - top_i) / Σ_k e^(x_ik - top_i)  over the k with mask_ik,   0 where not mask_ij
    dx_ij = y_ij · (dy_ij - Σ_k y_ik · dy_ik)

x, dy, y, dx: (M, N)   mask: (M, N) bool   top_i: the largest x_ik with mask_ik. In float32 (float64 for float64),
rounded once at the end. A row without an element gives 0, as PyTorch's scaled_dot_product_attention does since 2.5
(pytorch#103963); torch.softmax over a row of -inf gives NaN. What x holds where mask is False never matters.
"""

import torch


# %% masked_softmax_forward
def wide(x: torch.Tensor) -> torch.Tensor:
    """x in float32, or in float64 where it is float64 already."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def masked_softmax_forward(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """y, like x: the softmax of each row over its elements under the mask, 0 elsewhere."""
    if not x.numel():
        return torch.empty_like(x)
    scores = wide(x).masked_fill(~mask, -torch.inf)
    top = scores.amax(1, keepdim=True)
    top = top.masked_fill(top == -torch.inf, 0)  # -inf - -inf is NaN
    p = (scores - top).exp()
    total = p.sum(1, keepdim=True)
    y = p / total.masked_fill(total == 0, 1)  # 0 / 0 is NaN
    return y.masked_fill(~mask, 0).to(x.dtype)


# %% masked_softmax_backward
def masked_softmax_backward(dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """dx, like y, from what masked_softmax_forward returned. Needs no mask: where y is 0, so is dx."""
    p, g = wide(y), wide(dy)
    return (p * (g - (p * g).sum(1, keepdim=True))).to(y.dtype)
