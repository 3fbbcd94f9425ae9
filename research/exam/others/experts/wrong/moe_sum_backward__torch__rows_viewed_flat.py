# Wrong: reads the rows through a flat view, which raises for rows that are not contiguous.
import torch


def moe_sum_backward(dy, rows, weights, slots):
    t, j = torch.nonzero(slots >= 0, as_tuple=True)
    at = slots[t, j]
    g = dy[t].float()
    drows = torch.zeros(rows.shape, dtype=rows.dtype, device=rows.device)
    drows[at] = (weights[t, j, None] * g).to(rows.dtype)
    dweights = torch.zeros(weights.shape, dtype=weights.dtype, device=weights.device)
    dweights[t, j] = (g * rows.view(-1)[(at[:, None] * rows.shape[1] + torch.arange(rows.shape[1], device=rows.device))].float()).sum(1)
    return drows, dweights
