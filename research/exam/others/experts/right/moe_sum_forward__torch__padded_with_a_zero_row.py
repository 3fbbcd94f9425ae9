# Right: a row of zeros is put in front and slots are raised by one; the sum in float64.
import torch


def _check(slots, S):
    bad = ((slots < -1) | (slots >= S)).nonzero()
    if bad.shape[0] > 0:
        t, j = bad[0].tolist()
        raise IndexError(f"token {t} refers to slot {slots[t, j].item()}, and there are {S} rows")


def moe_sum_forward(rows, weights, slots):
    S, D = rows.shape
    _check(slots, S)
    padded = torch.zeros(S + 1, D, dtype=torch.float64, device=rows.device)
    padded[1:] = rows
    w = weights.double().masked_fill(slots == -1, 0.0)
    return torch.einsum("tk,tkd->td", w, padded[slots + 1]).to(rows.dtype)
