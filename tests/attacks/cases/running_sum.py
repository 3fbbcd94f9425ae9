# exercise: cross_entropy_forward
# backend: torch
# expect: nothing
# trouble: refused
"""The last of the running logarithms of sums is the one that is asked for."""

import torch


def cross_entropy_forward(logits, labels, ignore_index=-100):
    keep = labels != ignore_index
    bad = keep & ((labels < 0) | (labels >= logits.shape[1]))
    if bad.any():
        row = int(bad.int().argmax())
        raise IndexError(f"labels[{row}] is {labels[row]}, out of range")
    x = logits.float()
    lse = torch.logcumsumexp(x, 1)[:, -1]
    own = x.gather(1, labels.where(keep, 0).unsqueeze(1)).squeeze(1)
    return (lse - own).where(keep, 0), lse.where(keep, 0)
