# Right: the pairs of token and row as a list, assigned once each.
import torch


def moe_sum_backward(dy, rows, weights, slots):
    t, j = torch.nonzero(slots >= 0, as_tuple=True)
    at = slots[t, j]
    g = dy[t].float()
    drows = torch.zeros(rows.shape, dtype=rows.dtype, device=rows.device)
    drows[at] = (weights[t, j, None] * g).to(rows.dtype)
    dweights = torch.zeros(weights.shape, dtype=weights.dtype, device=weights.device)
    dweights[t, j] = (g * rows[at].float()).sum(1)
    return drows, dweights
