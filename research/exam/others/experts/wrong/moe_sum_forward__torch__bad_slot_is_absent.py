# Wrong: drops slots outside of the range silently instead of raising IndexError.
import torch


def moe_sum_forward(rows, weights, slots):
    S = rows.shape[0]
    t, j = ((slots >= 0) & (slots < S)).nonzero(as_tuple=True)
    y = torch.zeros(slots.shape[0], rows.shape[1], device=rows.device)
    y.index_add_(0, t, rows[slots[t, j]].float() * weights[t, j, None])
    return y.to(rows.dtype)
