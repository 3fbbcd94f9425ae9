# Wrong: looks for a bad slot place by place, so that it names the first token of the first place that has one.
import torch


def _check(slots, S):
    for j in range(slots.shape[1]):
        bad = ((slots[:, j] < -1) | (slots[:, j] >= S)).nonzero()
        if len(bad):
            t = int(bad[0])
            raise IndexError(f"token {t}: slot {int(slots[t, j])} is out of range for {S} rows")


def moe_sum_forward(rows, weights, slots):
    (S, D), (T, k) = rows.shape, slots.shape
    _check(slots, S)
    y = torch.zeros(T, D, dtype=torch.float32, device=rows.device)
    if S == 0:
        return y.to(rows.dtype)
    for j in range(k):
        mask = (slots[:, j] != -1)[:, None]
        part = rows[slots[:, j].clamp(min=0)].float() * weights[:, j, None]
        y += torch.where(mask, part, torch.zeros_like(part))
    return y.to(rows.dtype)
