# Wrong: the dot products of dy and the rows in the dtype of the rows: half precision sums.
import torch


def moe_sum_backward(dy, rows, weights, slots):
    t, j = torch.nonzero(slots >= 0, as_tuple=True)
    at = slots[t, j]
    g = dy[t].float()
    drows = torch.zeros(rows.shape, dtype=rows.dtype, device=rows.device)
    drows[at] = (weights[t, j, None] * g).to(rows.dtype)
    dweights = torch.zeros(weights.shape, dtype=weights.dtype, device=weights.device)
    dweights[t, j] = (dy[t] * rows[at]).sum(1).float()
    return drows, dweights
