# Wrong: divides by the sum of the weights that are there, although the weights are given.
import torch


def _check(slots, S):
    bad = ((slots < -1) | (slots >= S)).nonzero()
    if bad.shape[0] > 0:
        t, j = bad[0].tolist()
        raise IndexError(f"token {t} refers to slot {slots[t, j].item()}, and there are {S} rows")


def moe_sum_forward(rows, weights, slots):
    (S, D), T = rows.shape, slots.shape[0]
    _check(slots, S)
    t, j = torch.nonzero(slots >= 0, as_tuple=True)
    w = weights.masked_fill(slots < 0, 0.0)
    w = w / w.sum(1, keepdim=True)
    y = torch.zeros(T, D, device=rows.device)
    y.index_add_(0, t, rows[slots[t, j]].float() * w[t, j, None])
    return y.to(rows.dtype)
