# Wrong: sets the weight of an absent place to 0 and multiplies row 0 by it, which is NaN where row 0 holds NaN.
import torch


def _check(slots, S):
    bad = ((slots < -1) | (slots >= S)).nonzero()
    if bad.shape[0] > 0:
        t, j = bad[0].tolist()
        raise IndexError(f"token {t} refers to slot {slots[t, j].item()}, and there are {S} rows")


def moe_sum_forward(rows, weights, slots):
    S, D = rows.shape
    _check(slots, S)
    if S == 0:
        return torch.zeros(slots.shape[0], D, dtype=rows.dtype, device=rows.device)
    w = weights.masked_fill(slots < 0, 0.0)
    return (rows[slots.clamp(min=0)].float() * w[..., None]).sum(1).to(rows.dtype)
