"""A product of int8 matrices with a scale for each group along K, in Triton: sums of a group are integers.

c_mn = Σ_g a_scale_mg · b_scale_gn · Σ_{k in g} a_mk · b_kn     a: (M, K)   b: (K, N)   G groups of K / G
"""

import torch

from .language import tl, triton


# %% scaled_matmul
@triton.jit
def scaled_matmul_kernel(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, M, N, K,
    a_row, a_col, a_scale_row, a_scale_col, b_row, b_col, b_scale_row, b_scale_col,
    GROUP: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Program (i, j) does tile (i, j) of c, which is contiguous. BLOCK_K divides GROUP."""
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K).to(tl.int64)
    in_rows, in_cols = rows < M, cols < N
    a_ptrs = a_ptr + rows[:, None] * a_row + k[None, :] * a_col
    b_ptrs = b_ptr + k[:, None] * b_row + cols[None, :] * b_col
    a_scale_ptrs, b_scale_ptrs = a_scale_ptr + rows * a_scale_row, b_scale_ptr + cols * b_scale_col
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, GROUP):
        sums = tl.zeros((BLOCK_M, BLOCK_N), tl.int32)
        for inside in range(0, GROUP, BLOCK_K):
            at = (start + inside).to(tl.int64)
            a = tl.load(a_ptrs + at * a_col, mask=in_rows[:, None], other=0)
            b = tl.load(b_ptrs + at * b_row, mask=in_cols[None, :], other=0)
            sums = tl.dot(a, b, sums, out_dtype=tl.int32)
        g = (start // GROUP).to(tl.int64)
        a_scale = tl.load(a_scale_ptrs + g * a_scale_col, mask=in_rows, other=0.0)
        b_scale = tl.load(b_scale_ptrs + g * b_scale_row, mask=in_cols, other=0.0)
        total += sums.to(tl.float32) * (a_scale[:, None] * b_scale[None, :])
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], total, mask=in_rows[:, None] & in_cols[None, :])


def scaled_matmul(a: torch.Tensor, a_scale: torch.Tensor, b: torch.Tensor, b_scale: torch.Tensor) -> torch.Tensor:
    """(M, N), float32. a: (M, K), b: (K, N), int8; a_scale: (M, G), b_scale: (G, N), float32, any sign or 0.

    Element k belongs to group k // (K / G); K / G is a multiple of 32. Scales and their products are at most 1e30.
    Strides: any for all four.
    """
    (M, K), N = a.shape, b.shape[1]
    group = K // a_scale.shape[1]
    c = torch.empty(M, N, dtype=torch.float32, device=a.device)
    block_m = 16 if M <= 16 else 64
    block_k = min(group & -group, 128)  # the largest power of two that divides a group
    if M:
        scaled_matmul_kernel[(triton.cdiv(M, block_m), triton.cdiv(N, 64))](
            a, a_scale, b, b_scale, c, M, N, K,
            *a.stride(), *a_scale.stride(), *b.stride(), *b_scale.stride(),
            GROUP=group, BLOCK_M=block_m, BLOCK_N=64, BLOCK_K=block_k,
        )  # fmt: skip
    return c
