# Wrong: drows starts as torch.empty_like: rows that no token refers to hold what was in memory.
import torch


def moe_sum_backward(dy, rows, weights, slots):
    t, j = torch.nonzero(slots >= 0, as_tuple=True)
    at = slots[t, j]
    g = dy[t].float()
    drows = torch.empty_like(rows)
    drows[at] = (weights[t, j, None] * g).to(rows.dtype)
    dweights = torch.zeros(weights.shape, dtype=weights.dtype, device=weights.device)
    dweights[t, j] = (g * rows[at].float()).sum(1)
    return drows, dweights
