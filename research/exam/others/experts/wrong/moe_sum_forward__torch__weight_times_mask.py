# Wrong: multiplies the weights by the mask, so that a NaN in the weight of an absent place stays.
import torch


def _check(slots, S):
    bad = ((slots < -1) | (slots >= S)).nonzero()
    if bad.shape[0] > 0:
        t, j = bad[0].tolist()
        raise IndexError(f"token {t} refers to slot {slots[t, j].item()}, and there are {S} rows")


def moe_sum_forward(rows, weights, slots):
    S, D = rows.shape
    _check(slots, S)
    table = torch.cat([rows.float(), torch.zeros(1, D, device=rows.device)])
    w = weights * (slots >= 0)
    return (table[slots.masked_fill(slots < 0, S)] * w.unsqueeze(-1)).sum(1).to(rows.dtype)
