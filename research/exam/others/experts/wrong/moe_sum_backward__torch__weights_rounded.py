# Wrong: rounds the weights to the dtype of the rows before the product.
import torch


def moe_sum_backward(dy, rows, weights, slots):
    t, j = torch.nonzero(slots >= 0, as_tuple=True)
    at = slots[t, j]
    g = dy[t].float()
    drows = torch.zeros(rows.shape, dtype=rows.dtype, device=rows.device)
    drows[at] = weights[t, j, None].to(rows.dtype) * dy[t]
    dweights = torch.zeros(weights.shape, dtype=weights.dtype, device=weights.device)
    dweights[t, j] = (g * rows[at].float()).sum(1)
    return drows, dweights
