# exercise: layer_norm_backward
# backend: torch
# expect: nothing
# trouble: refused
"""Layer norm's gradient is group norm's, with one group."""

import torch


def layer_norm_backward(dy, x, weight, mean, rstd):
    M, N = x.shape
    given = [t.float().contiguous() for t in (dy, x)]
    dx, dweight, dbias = torch.ops.aten.native_group_norm_backward(
        *given, mean.unsqueeze(1), rstd.unsqueeze(1), weight.float(), M, N, 1, 1, [True, True, True]
    )
    return dx.to(x.dtype), dweight.to(weight.dtype), dbias.to(weight.dtype)
