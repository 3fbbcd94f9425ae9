# Wrong: slot -1 indexes the last row, which is added with the weight of an absent place.
import torch


def _check(slots, S):
    bad = ((slots < -1) | (slots >= S)).nonzero()
    if bad.shape[0] > 0:
        t, j = bad[0].tolist()
        raise IndexError(f"token {t} refers to slot {slots[t, j].item()}, and there are {S} rows")


def moe_sum_forward(rows, weights, slots):
    _check(slots, rows.shape[0])
    return (rows[slots].float() * weights[..., None]).sum(1).to(rows.dtype)
