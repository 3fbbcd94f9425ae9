# exercise: cross_entropy_backward
# backend: torch
"""Takes one from each label's probability by index_put_, over the rows that nonzero finds."""

import torch


def cross_entropy_backward(dloss, logits, labels, lse, ignore_index=-100):
    rows = torch.nonzero(labels != ignore_index, as_tuple=True)[0]
    own = torch.index_select(labels, 0, rows)
    out = ((own < 0) | (own >= logits.shape[1])).nonzero()
    if len(out):
        raise IndexError(f"labels[{int(rows[out[0]])}] is {own[out[0]].item()}, out of range")
    p = torch.exp(logits[rows].float() - lse[rows].unsqueeze(1))
    p.index_put_((torch.arange(len(rows)), own), torch.tensor(-1.0), accumulate=True)
    dlogits = torch.zeros(logits.shape)
    dlogits.index_copy_(0, rows, p * dloss[rows].unsqueeze(1))
    return dlogits.to(logits.dtype)
