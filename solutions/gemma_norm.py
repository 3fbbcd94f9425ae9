"""Gemma's RMS norm in PyTorch: the weight that is stored is how far the factor is from 1.

    y = x · rstd · (1 + weight),   rstd = 1 / √(mean(x²) + eps)

x, y: (M, N)   weight: (N,). In float32 (float64 for float64 input), the sum 1 + weight as well, rounded once at the
end: in bfloat16 1 + 2^-8 is 1. Gemma Team 2024, arXiv:2403.08295.
"""

import torch


# %% gemma_norm
def gemma_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """y = x · rstd · (1 + weight) for each row, in x's dtype. Strides: any for x; weight is contiguous."""
    wide = torch.promote_types(x.dtype, torch.float32)
    v = x.to(wide)
    rstd = torch.rsqrt((v * v).mean(-1, keepdim=True) + eps)
    return (v * rstd * (1 + weight.to(wide))).to(x.dtype)
