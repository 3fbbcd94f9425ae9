# Wrong: assigns through -1 as well, so that an absent place overwrites the gradient of the last row.
import torch


def moe_sum_backward(dy, rows, weights, slots):
    drows = torch.zeros_like(rows)
    drows[slots] = (weights[..., None] * dy[:, None, :].float()).to(rows.dtype)
    dweights = (dy[:, None, :].float() * rows[slots].float()).sum(-1)
    return drows, dweights.masked_fill(slots < 0, 0.0)
