# exercise: layer_norm_forward
# backend: torch
# expect: nothing
# trouble: refused
"""Group norm of one group, as PyTorch composes it of basic operators."""

from torch._refs import native_group_norm


def layer_norm_forward(x, weight, bias, eps=1e-5):
    (M, N), given = x.shape, (x.float(), weight.float(), bias.float())
    y, mean, rstd = native_group_norm(*given, M, N, 1, 1, eps)
    return y.to(x.dtype), mean.squeeze(1), rstd.squeeze(1)
