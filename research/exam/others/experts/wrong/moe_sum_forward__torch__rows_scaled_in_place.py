# Wrong: multiplies float32 rows by their weights in place before it adds them.
import torch


def _check(slots, S):
    bad = ((slots < -1) | (slots >= S)).nonzero()
    if bad.shape[0] > 0:
        t, j = bad[0].tolist()
        raise IndexError(f"token {t} refers to slot {slots[t, j].item()}, and there are {S} rows")


def moe_sum_forward(rows, weights, slots):
    _check(slots, rows.shape[0])
    t, j = torch.nonzero(slots != -1, as_tuple=True)
    work = rows.float()
    work[slots[t, j]] *= weights[t, j, None]
    y = torch.zeros(slots.shape[0], rows.shape[1], device=rows.device)
    y.index_add_(0, t, work[slots[t, j]])
    return y.to(rows.dtype)
