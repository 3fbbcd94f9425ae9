"""The sum of each row in PyTorch, as a tree of additions whose shape follows the length of a row alone.

    sums_i = Σ_k x_ik     x: (M, K)   sums: (M,)

In float32 (float64 for float64 input), rounded once at the end.
"""

import torch


# %% split_k_sum
def split_k_sum(x: torch.Tensor) -> torch.Tensor:
    """(M,): the sum of each row of x (M, K), in x's dtype, as a tree that follows K alone.

    A row has the same bits whatever rows are beside it. K may be 0. Strides: any for x. PyTorch's operators that add up
    elements themselves (sum, mean, cumsum, scatter_add, products of matrices) are refused.
    """
    v = x.to(torch.promote_types(x.dtype, torch.float32))
    zero = v.new_zeros(len(v), 1)
    v = torch.cat((v, zero), 1)  # the sum of nothing is 0
    while v.shape[1] > 1:
        v = torch.cat((v, zero), 1) if v.shape[1] % 2 else v
        left, right = v.chunk(2, 1)
        v = left + right  # element by element: each row by itself
    return v[:, 0].to(x.dtype)
