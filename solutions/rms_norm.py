"""RMS norm in PyTorch, over the last axis of a matrix.

    x̂ = x · rstd,   y = x̂ · weight,   rstd = 1 / √(mean(x²) + eps)
    dx = rstd · (g - x̂ · mean(g · x̂)),   g = dy · weight
    dweight = Σ_rows dy · x̂

x, y, dy, dx: (M, N)   weight: (N,)   rstd: (M,) float32. Zhang and Sennrich 2019, arXiv:1910.07467.
In float32 (float64 for float64 input), rounded once at the end. Rows so large that their squares are infinite in
float32 are scaled down by a power of two first, and eps with them.
"""

import torch


# %% rms_norm_forward
def rms_norm_forward(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> tuple[torch.Tensor, torch.Tensor]:
    """(y, rstd): y = x · rstd · weight for each row, in x's dtype; rstd: (M,) float32.

    Strides: any for x; weight is contiguous.
    """
    v = x.to(torch.promote_types(x.dtype, torch.float32))
    scale = torch.where((v.abs() > 1e15).any(-1, keepdim=True), 2.0**-80, 1.0).to(v.dtype)
    v = v * scale
    rstd = torch.rsqrt((v * v).mean(-1, keepdim=True) + eps * scale * scale)
    return (v * rstd * weight).to(x.dtype), (rstd * scale).squeeze(-1)


# %% rms_norm_backward
def rms_norm_backward(
    dy: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """(dx, dweight), in the dtypes of x and weight; rstd is rms_norm_forward's.

    Strides: any for dy and x; weight and rstd are contiguous.
    """
    wide = torch.promote_types(x.dtype, torch.float32)
    dy, rstd = dy.to(wide), rstd.unsqueeze(-1)
    normal = x.to(wide) * rstd  # x̂
    g = dy * weight
    dx = rstd * (g - normal * (g * normal).mean(-1, keepdim=True))
    return dx.to(x.dtype), (dy * normal).sum(0).to(weight.dtype)
