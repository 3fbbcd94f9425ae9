# exercise: layer_norm_backward
# backend: torch
# expect: nothing
# trouble: refused
"""The composition of basic operators that PyTorch has for its compiler."""

from torch._decomp.decompositions import native_layer_norm_backward


def layer_norm_backward(dy, x, weight, mean, rstd):
    given = dy.float(), x.float(), [x.shape[1]], mean.unsqueeze(1), rstd.unsqueeze(1), weight.float(), weight.float()
    dx, dweight, dbias = native_layer_norm_backward(*given, [True, True, True])
    return dx.to(x.dtype), dweight.to(weight.dtype), dbias.to(weight.dtype)
