"""Gemma's RMS norm in Triton: the weight that is stored is how far the factor is from 1.

    y = x · rstd · (1 + weight),   rstd = 1 / √(mean(x²) + eps)

x, y: (M, N)   weight: (N,). Float32 inside, the sum 1 + weight as well, rounded once at the store. A row is read once.
Gemma Team 2024, arXiv:2403.08295.
"""

import torch

from .language import tl, triton


# %% gemma_norm
@triton.jit
def gemma_norm_kernel(x_ptr, weight_ptr, y_ptr, N, eps, BLOCK: tl.constexpr):
    """Program m does row m."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N

    x = tl.load(x_ptr + row * N + cols, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)

    rstd = tl.rsqrt(tl.sum(x * x) / N + eps)
    y = x * rstd * (1.0 + weight)

    tl.store(y_ptr + row * N + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


def gemma_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """y = x · rstd · (1 + weight) for each row, in x's dtype. Strides: any for x; weight is contiguous."""
    x = x.contiguous()
    weight = weight.contiguous()
    M, N = x.shape
    y = torch.empty_like(x)
    if x.numel():
        block = triton.next_power_of_2(N)
        warps = min(max(block // 512, 1), 16)
        gemma_norm_kernel[(M,)](x, weight, y, N, eps, BLOCK=block, num_warps=warps)
    return y
