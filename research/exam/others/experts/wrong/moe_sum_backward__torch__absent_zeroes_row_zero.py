# Wrong: clamps -1 to row 0 and assigns 0 there, which wipes out the gradient of row 0.
import torch


def moe_sum_backward(dy, rows, weights, slots):
    if rows.shape[0] == 0:
        return torch.zeros_like(rows), torch.zeros_like(weights)
    there, at = slots >= 0, slots.clamp(min=0)
    w = weights.masked_fill(~there, 0.0)
    drows = torch.zeros_like(rows)
    for j in range(slots.shape[1]):
        drows[at[:, j]] = (w[:, j, None] * dy.float()).to(rows.dtype)
    dweights = (dy[:, None, :].float() * rows[at].float()).sum(-1)
    return drows, dweights.masked_fill(~there, 0.0)
