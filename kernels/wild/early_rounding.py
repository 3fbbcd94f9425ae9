"""Parts of a block that rounded to bfloat16 too early, as they shipped, bug for bug."""

import torch


def scaled_norm_in_the_weights_dtype(x, weight):
    """Liger-Kernel 0.8.3 and 0.8.4, RMS norm of Gemma in CuTe: ``w_eff = weight + offset``, in the weight's dtype.
    In bfloat16 .00390625 + 1 is 1.

    github.com/linkedin/Liger-Kernel/pull/1462 (2026-09-11): 233 tests pass before and after. Right in 0.8.5.
    """
    v, w = x.float(), (weight + 1.0).float()
    return (v * torch.rsqrt(v.square().mean(1, keepdim=True) + 1e-6) * w).to(x.dtype)


def embedding_gradient_added_in_half(dy, tokens):
    """FlagGems' embedding_backward: each row is added to the gradient where that lies, in its dtype, by an atomic add.

    Of 38e17471 (2024-06-24), until github.com/FlagOpen/FlagGems/pull/309 (a61ab240, 2024-11-27).
    """
    gradient = torch.zeros(8, dy.shape[1], dtype=dy.dtype)
    for row, token in zip(dy, tokens.tolist(), strict=True):
        gradient[token] += row
    return gradient
