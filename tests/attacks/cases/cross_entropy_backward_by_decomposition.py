# exercise: cross_entropy_backward
# backend: torch
# expect: nothing
# trouble: refused
"""Two compositions of basic operators that PyTorch has for its compiler."""

import torch
from torch._decomp import decompositions


def cross_entropy_backward(dloss, logits, labels, lse, ignore_index=-100):
    bad = ((labels != ignore_index) & ((labels < 0) | (labels >= logits.shape[1]))).nonzero().flatten().tolist()
    if bad:
        raise IndexError(f"labels[{bad[0]}] is {labels[bad[0]]}, out of range")
    log_p = logits.float() - lse.unsqueeze(1)
    given = dloss.float(), log_p, labels, None, 0, ignore_index, torch.tensor(1.0)
    slope = decompositions.nll_loss_backward(*given)
    return decompositions._log_softmax_backward_data(slope, log_p, 1, torch.float32).to(logits.dtype)
