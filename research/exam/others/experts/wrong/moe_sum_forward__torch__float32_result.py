# Wrong: returns the float32 sum, not the dtype of the rows.
import torch


def _check(slots, S):
    bad = ((slots < -1) | (slots >= S)).nonzero()
    if bad.shape[0] > 0:
        t, j = bad[0].tolist()
        raise IndexError(f"token {t} refers to slot {slots[t, j].item()}, and there are {S} rows")


def moe_sum_forward(rows, weights, slots):
    _check(slots, rows.shape[0])
    t, j = (slots != -1).nonzero(as_tuple=True)
    y = torch.zeros(slots.shape[0], rows.shape[1], device=rows.device)
    return y.index_add(0, t, rows[slots[t, j]].float() * weights[t, j, None])
