# Right: a padded table with a spare row for absent places, einsum in float64.
import torch


def moe_sum_backward(dy, rows, weights, slots):
    S, D = rows.shape
    there = slots != -1
    at = slots.where(there, torch.full_like(slots, S))
    table = torch.cat([rows.double(), torch.zeros(1, D, dtype=torch.float64, device=rows.device)])
    g = dy.double()
    dweights = torch.einsum("td,tkd->tk", g, table[at]).masked_fill(~there, 0.0).to(weights.dtype)
    w = weights.double().masked_fill(~there, 0.0)
    drows = torch.zeros(S + 1, D, dtype=torch.float64, device=rows.device)
    drows.index_put_((at,), w[..., None] * g[:, None, :])
    return drows[:S].to(rows.dtype), dweights
