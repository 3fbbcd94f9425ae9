# exercise: linear_cross_entropy_forward_backward
# backend: torch
"""Two rows at a time."""

import torch


def linear_cross_entropy_forward_backward(hidden, weight, labels, ignore_index=-100):
    V = weight.shape[0]
    keep = labels != ignore_index
    bad = keep & ((labels < 0) | (labels >= V))
    if bad.any():
        row = int(bad.nonzero()[0])
        raise IndexError(f"labels[{row}] is {labels[row].item()}, out of range")
    kept = keep.nonzero().squeeze(1)
    n = max(len(kept), 1)
    w = weight.float()
    loss = torch.zeros(())
    dhidden, dweight = torch.zeros_like(hidden), torch.zeros_like(w)
    for rows in kept.split(2):
        x, own = hidden[rows].float(), labels[rows].unsqueeze(1)
        logits = torch.addmm(torch.zeros(1, V), x, w.t())
        lse = torch.logsumexp(logits, 1, keepdim=True)
        loss += (lse - logits.gather(1, own)).sum() / n
        p = (logits - lse).exp_().scatter_add_(1, own, -torch.ones(own.shape)).div_(n)
        dhidden[rows] = (p @ w).to(hidden.dtype)
        dweight.addmm_(p.t(), x)
    return loss, dhidden, dweight.to(weight.dtype)
