"""A matrix product in Triton: one tile of the result to a program.

    c_ij = Σ_k a_ik · b_kj     a: (M, K)   b: (K, N)   c: (M, N)

Any strides, so a transposed matrix is not copied. Products are summed in float32 and rounded once, at the store.
"""

import torch

from .language import tl, triton

# %% matmul


@triton.jit
def load_tiles(a_ptr, b_ptr, rows, cols, k, M, N, depth, a_row, a_col, b_row, b_col):
    """a[rows, k] and b[k, cols], 0 outside. rows: (TILE_M, 1)   cols: (1, TILE_N)   k: (TILE_K,), all int64."""
    a = tl.load(a_ptr + rows * a_row + k[None, :] * a_col, mask=(rows < M) & (k[None, :] < depth), other=0.0)
    b = tl.load(b_ptr + k[:, None] * b_row + cols * b_col, mask=(k[:, None] < depth) & (cols < N), other=0.0)
    return a, b


@triton.jit
def product_of_tiles(
    a_ptr, b_ptr, rows, cols, M, N, depth, a_row, a_col, b_row, b_col,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):  # fmt: skip
    """Σ over k < depth of a[rows, k] · b[k, cols], in float32. rows: (TILE_M, 1)   cols: (1, TILE_N), both int64."""
    total = tl.zeros((TILE_M, TILE_N), tl.float32)
    for start in range(0, depth, TILE_K):
        k = (start + tl.arange(0, TILE_K)).to(tl.int64)
        a, b = load_tiles(a_ptr, b_ptr, rows, cols, k, M, N, depth, a_row, a_col, b_row, b_col)
        total = tl.dot(a, b, total, input_precision="ieee")  # the default takes 11 of 24 bits
    return total


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Program (i, j) does tile (i, j) of c, which is contiguous."""
    rows = (tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]
    cols = (tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]

    total = product_of_tiles(
        a_ptr, b_ptr, rows, cols, M, N, K, a_row, a_col, b_row, b_col, BLOCK_M, BLOCK_N, BLOCK_K
    )  # fmt: skip

    tl.store(c_ptr + rows * N + cols, total.to(c_ptr.dtype.element_ty), mask=(rows < M) & (cols < N))


def tiles(a: torch.Tensor, b: torch.Tensor) -> tuple[int, int, int]:
    """(BLOCK_M, BLOCK_N, BLOCK_K): in half precision what the registers hold. A tile of 128 x 256 has 85 operations to
    a byte that it loads, one of 64 x 64 has 32. Small products stay in small tiles; those of float32, too, which do not
    go through tensor cores.
    """
    if a.dtype == torch.float32:
        return 64, 64, 16
    if min(a.shape[0], b.shape[1]) <= 64:
        return 64, 64, 32
    return 128, 256 if b.shape[1] > 128 else 128, 64


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of a, (M, K), and b, (K, N), both of one dtype: (M, N) in that dtype.

    Any of M, N and K may be 0; a sum of none is 0. Strides: any for a and b.
    """
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, dtype=a.dtype, device=a.device)
    block_m, block_n, block_k = tiles(a, b)
    grid = (triton.cdiv(M, block_m), triton.cdiv(N, block_n))
    if M and N:
        matmul_kernel[grid](
            a, b, c, M, N, K, *a.stride(), *b.stride(),
            BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, num_warps=8,
        )  # fmt: skip
    return c
