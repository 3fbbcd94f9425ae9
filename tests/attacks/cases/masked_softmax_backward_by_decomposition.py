# exercise: masked_softmax_backward
# backend: torch
# expect: nothing
# trouble: refused
"""The composition of basic operators that PyTorch has for its compiler."""

import torch
from torch._decomp.decompositions import _softmax_backward_data


def masked_softmax_backward(dy, y):
    return _softmax_backward_data(dy.float(), y.float(), 1, torch.float32).to(y.dtype)
