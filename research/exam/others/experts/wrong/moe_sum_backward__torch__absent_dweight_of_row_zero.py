# Wrong: the gradient of an absent place's weight is the dot product with row 0, not 0.
import torch


def moe_sum_backward(dy, rows, weights, slots):
    t, j = torch.nonzero(slots >= 0, as_tuple=True)
    at = slots[t, j]
    g = dy[t].float()
    drows = torch.zeros(rows.shape, dtype=rows.dtype, device=rows.device)
    drows[at] = (weights[t, j, None] * g).to(rows.dtype)
    dweights = torch.stack([(dy.float() * rows[slots[:, i].clamp(min=0)].float()).sum(1) for i in range(slots.shape[1])], 1)
    return drows, dweights
