# Right: the pairs of token and row as a list, added by index_add_ in float32.
import torch


def _check(slots, S):
    bad = ((slots < -1) | (slots >= S)).nonzero()
    if bad.shape[0] > 0:
        t, j = bad[0].tolist()
        raise IndexError(f"token {t} refers to slot {slots[t, j].item()}, and there are {S} rows")


def moe_sum_forward(rows, weights, slots):
    _check(slots, rows.shape[0])
    t, j = torch.nonzero(slots != -1, as_tuple=True)
    y = torch.zeros(slots.shape[0], rows.shape[1], dtype=torch.float32, device=rows.device)
    y.index_add_(0, t, rows[slots[t, j]].float() * weights[t, j].unsqueeze(1))
    return y.to(rows.dtype)
