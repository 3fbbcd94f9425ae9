# Wrong: rounds every product to the dtype of the rows and adds the rounded ones in float32.
import torch


def _check(slots, S):
    bad = ((slots < -1) | (slots >= S)).nonzero()
    if bad.shape[0] > 0:
        t, j = bad[0].tolist()
        raise IndexError(f"token {t} refers to slot {slots[t, j].item()}, and there are {S} rows")


def moe_sum_forward(rows, weights, slots):
    (S, D), (T, k) = rows.shape, slots.shape
    _check(slots, S)
    y = torch.zeros(T, D, dtype=torch.float32, device=rows.device)
    if S == 0:
        return y.to(rows.dtype)
    for j in range(k):
        mask = (slots[:, j] != -1)[:, None]
        part = (rows[slots[:, j].clamp(min=0)] * weights[:, j, None].to(rows.dtype)).float()
        y += torch.where(mask, part, torch.zeros_like(part))
    return y.to(rows.dtype)
