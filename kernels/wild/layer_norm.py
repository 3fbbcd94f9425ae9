"""Layer norm as it shipped, bug for bug. Every operation is rounded to the dtype of its input, as the libraries do.

Each returns what the exercise asks for, (y, mean, rstd) or (dx, dweight, dbias), although few of the libraries kept the
statistics; these are float32.
"""

import torch


def layer_norm_forward_epsilon_outside(x, weight, bias, eps=1e-5):
    """burn 0.3.0 to 0.13.2: eps is added to the standard deviation, not to the variance.

    github.com/tracel-ai/burn/issues/2185 (2024-08-20), introduced by pull request 35 (2022-09-15), fixed in 0.14.0 by
    pull request 2186. GroupNorm and InstanceNorm kept the expression until 0.17.0 (pull request 2945, 2025-03-24).
    """
    mean = x.mean(-1, keepdim=True)
    std = ((x - mean) ** 2).mean(-1, keepdim=True).sqrt()
    y = (x - mean) / (std + eps) * weight + bias
    return y.to(x.dtype), *_statistics(mean, 1 / (std + eps))


def layer_norm_backward_epsilon_outside(dy, x, weight, mean, rstd):
    """What burn's automatic differentiation made of it: dx through d√var = dvar / (2 √var), which is 0 / 0 at var = 0.

    github.com/tracel-ai/burn/issues/1992 (2024-07-08) is the NaN as a user met it, on a row of zeros.
    """
    dy, weight_of_dy = dy.to(x.dtype), weight.dtype
    mean, rstd, weight = (t.to(x.dtype) for t in (mean.unsqueeze(-1), rstd.unsqueeze(-1), weight))
    d = x - mean
    std = (d**2).mean(-1, keepdim=True).sqrt()
    g = dy * weight
    dstd = -(g * d).sum(-1, keepdim=True) * rstd * rstd
    dx = rstd * (g - g.mean(-1, keepdim=True)) + dstd / std * d / x.shape[-1]
    return dx, (dy * d * rstd).sum(0).to(weight_of_dy), dy.sum(0).to(weight_of_dy)


def layer_norm_forward_unbiased(x, weight, bias, eps=1e-5):
    """The Annotated Transformer: ``x.std()``, which divides by N - 1, and eps outside.

    github.com/harvardnlp/annotated-transformer/issues/122; copied into many repositories, for instance
    github.com/codertimo/BERT-pytorch/issues/30 (2018-10-23). A row of one element is NaN.
    """
    mean = x.mean(-1, keepdim=True)
    std = (((x - mean) ** 2).sum(-1, keepdim=True) / (x.shape[-1] - 1)).sqrt()  # what x.std() is, without its warning
    y = (x - mean) / (std + eps) * weight + bias
    return y.to(x.dtype), *_statistics(mean, 1 / (std + eps))


def layer_norm_forward_padding(x, weight, bias, eps=1e-5):
    """Liger-Kernel up to 0.5.3: the lanes of the block beyond the row hold 0, minus the mean, squared, in the variance.

    github.com/linkedin/Liger-Kernel/issues/518 (2025-01-09), fixed in 0.5.4 by pull request 582. The same in unsloth
    until pull request 1867 (2025-03-01), and in github.com/triton-lang/triton/issues/9838 (2026-03-25). Here a block is
    a row padded with zeros to a power of two, as ``tl.load(..., mask=mask, other=0.0)`` gives it.
    """
    n = x.shape[-1]
    lanes = torch.nn.functional.pad(x.float(), (0, (1 << (n - 1).bit_length()) - n))
    mean = lanes.sum(-1, keepdim=True) / n
    rstd = torch.rsqrt(((lanes - mean) ** 2).sum(-1, keepdim=True) / n + eps)
    y = (x.float() - mean) * rstd * weight.float() + bias.float()
    return y.to(x.dtype), *_statistics(mean, rstd)


def layer_norm_forward_one_pass(x, weight, bias, eps=1e-5):
    """burn-flex: the variance as mean(x²) - mean(x)², in one pass over the row.

    github.com/tracel-ai/burn/issues/5607 (2026-09-08). Flax had it too, and clamps the variance at 0 since
    github.com/google/flax/issues/1491 (2021-08-13): that removes the NaN and leaves the wrong numbers.
    """
    v = x.float()
    mean = v.mean(-1, keepdim=True)
    rstd = torch.rsqrt((v * v).mean(-1, keepdim=True) - mean * mean + eps)
    y = (v - mean) * rstd * weight.float() + bias.float()
    return y.to(x.dtype), *_statistics(mean, rstd)


def group_norm_epsilon_outside(x, groups, weight, bias, eps=1e-5):
    """burn's GroupNorm up to 0.16: the sibling that the fix of layer norm forgot. x: (B, C, ...), weight: (C,)."""
    rows = x.reshape(x.shape[0], groups, -1)
    mean = rows.mean(-1, keepdim=True)
    std = ((rows - mean) ** 2).mean(-1, keepdim=True).sqrt()
    normal = ((rows - mean) / (std + eps)).reshape(x.shape)
    channels = (1, -1, *(1,) * (x.dim() - 2))
    return normal * weight.reshape(channels) + bias.reshape(channels)


def _statistics(mean, rstd):
    return mean.squeeze(-1).float(), rstd.squeeze(-1).float()
