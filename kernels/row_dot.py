"""A matrix product in Triton whose rows do not know of each other.

    c_ij = Σ_k a_ik · b_kj     a: (M, K)   b: (K, N)   c: (M, N)

K is added in blocks of 32, whatever M is; a tile has as many rows as a small batch needs.
"""

import torch

from .language import tl, triton

# %% row_dot
BLOCK_K = 32  # the order of a sum: it follows nothing


@triton.jit
def row_dot_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Program (i, j) does tile (i, j) of c, which is contiguous."""
    rows = (tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]
    cols = (tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = (start + tl.arange(0, BLOCK_K)).to(tl.int64)
        a = tl.load(a_ptr + rows * a_row + k[None, :] * a_col, mask=(rows < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * b_row + cols * b_col, mask=(k[:, None] < K) & (cols < N), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")  # the default takes 11 of 24 bits
    tl.store(c_ptr + rows * N + cols, total.to(c_ptr.dtype.element_ty), mask=(rows < M) & (cols < N))


def row_dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of a, (M, K), and b, (K, N), both of one dtype: (M, N) in that dtype.

    Each row of it has the same bits whatever rows of a are beside it, so `tl.atomic_add` of floats is refused: nobody
    knows its order. Any of M, N and K may be 0; a sum of none is 0.
    Strides: any for a and b.
    """
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, dtype=a.dtype, device=a.device)
    block_m = 16 if M <= 16 else 64
    grid = (triton.cdiv(M, block_m), triton.cdiv(N, 64))
    if M and N:
        row_dot_kernel[grid](
            a, b, c, M, N, K, *a.stride(), *b.stride(),
            BLOCK_M=block_m, BLOCK_N=64, BLOCK_K=BLOCK_K,
        )  # fmt: skip
    return c
