# Wrong: returns drows in float32 whatever the dtype of the rows.
import torch


def moe_sum_backward(dy, rows, weights, slots):
    t, j = torch.nonzero(slots >= 0, as_tuple=True)
    at = slots[t, j]
    g = dy[t].float()
    drows = torch.zeros(rows.shape, device=rows.device)
    drows[at] = weights[t, j, None] * g
    dweights = torch.zeros(weights.shape, dtype=weights.dtype, device=weights.device)
    dweights[t, j] = (g * rows[at].float()).sum(1)
    return drows, dweights
