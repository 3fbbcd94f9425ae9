# Wrong: stacks a list of the k products, which raises where k is 0.
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
    parts = []
    for j in range(slots.shape[1]):
        w = weights[:, j].masked_fill(slots[:, j] < 0, 0.0)
        parts.append(table[slots[:, j].masked_fill(slots[:, j] < 0, S)] * w[:, None])
    return torch.stack(parts).sum(0).to(rows.dtype)
