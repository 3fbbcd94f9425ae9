"""A product of int8 matrices with a scale for each group along K, in PyTorch.

c_mn = Σ_g a_scale_mg · b_scale_gn · Σ_{k in g} a_mk · b_kn     a: (M, K)   b: (K, N)   G groups of K / G
"""

import torch


# %% scaled_matmul
def scaled_matmul(a: torch.Tensor, a_scale: torch.Tensor, b: torch.Tensor, b_scale: torch.Tensor) -> torch.Tensor:
    """(M, N), float32. a: (M, K), b: (K, N), int8; a_scale: (M, G), b_scale: (G, N), float32, any sign or 0.

    Element k belongs to group k // (K / G); K / G is a multiple of 32. Scales and their products are at most 1e30.
    Strides: any for all four.
    """
    groups = a_scale.shape[1]
    left, right = a.float().unflatten(1, (groups, -1)), b.float().unflatten(0, (groups, -1))
    sums = left.transpose(0, 1) @ right  # (G, M, N): integers, exact up to 2^24
    return (a_scale.T[:, :, None] * b_scale[:, None, :] * sums).sum(0)
