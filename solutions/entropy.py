"""The entropy of a softmax in PyTorch: one number for each row of logits, and its gradient.

    H   = -Σ p log p,   p = e^(z - lse),   lse = log Σ e^z
    dz  = -dH p (log p + H)

logits: (M, V)   entropy, lse, dentropy: (M,) float32. In float32 (float64 for float64 logits), rounded once at the end.
H is computed as log Σ e^d - Σ e^d d / Σ e^d with d = z - max z: lse - Σ p z would subtract two numbers as large as the
logits. A class of -inf has no probability and adds 0; a row of -inf alone has entropy 0, lse -inf and gradient 0.
"""

import torch


# %% entropy_forward
def entropy_forward(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(entropy, lse): (M,) each, natural logarithm. logits (M, V), any strides; -inf is a class that cannot be."""
    z = logits.to(torch.promote_types(logits.dtype, torch.float32))
    top = z.amax(1, keepdim=True)
    top = top.masked_fill(top == -torch.inf, 0)  # -inf - -inf is NaN
    d = z - top
    e = d.exp()
    total = e.sum(1)
    mean = (e * d.masked_fill(d == -torch.inf, 0)).sum(1) / total  # 0 * -inf is NaN
    entropy = (total.log() - mean).masked_fill(total == 0, 0)
    return entropy, top.squeeze(1) + total.log()


# %% entropy_backward
def entropy_backward(
    dentropy: torch.Tensor, logits: torch.Tensor, entropy: torch.Tensor, lse: torch.Tensor
) -> torch.Tensor:
    """dlogits, like logits, from what entropy_forward returned; 0 where a class has no probability.

    Strides: any for dentropy and logits; entropy and lse are contiguous.
    """
    log_p = logits - lse.unsqueeze(1)  # float32, as lse is
    dlogits = -dentropy.unsqueeze(1) * log_p.exp() * (log_p + entropy.unsqueeze(1))
    return dlogits.masked_fill(logits == -torch.inf, 0).to(logits.dtype)  # 0 * -inf is NaN
