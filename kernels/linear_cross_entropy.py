"""The last layer and its loss in one, in Triton: the logits exist for a few rows at a time, never for all.

    loss = Σ_i (lse_i - x_i[label_i]) / n,   x = hidden @ weightᵀ
    dhidden = dx @ weight,   dweight = dxᵀ @ hidden,   dx_ij = (p_ij - [j = label_i]) / n

hidden: (M, D)   weight: (V, D)   labels: (M,) int64   x: (M, V), of which at most 1/16, or 16 rows, is held at once, in
float32, and dx beside it. n: the number of rows that count; the others are left out of every product. Products are
summed in float32 and rounded once. Wijmans et al. 2024, arXiv:2411.09009; Hsu et al. 2024 (Liger Kernel),
arXiv:2410.10989.
"""

import torch

from .cross_entropy import check_labels, cross_entropy_backward, losses
from .language import tl, triton
from .matmul import load_tiles, product_of_tiles, tiles

# %% linear_cross_entropy_forward_backward


@triton.jit
def first_bits(a):
    """a cut to the first 8 of the 24 bits of a float32, as many as bfloat16 has. Rounding could overflow."""
    return (a.to(tl.uint32, bitcast=True) & 0xFFFF0000).to(tl.float32, bitcast=True)


@triton.jit
def add_product_in_pieces(a, b, total):
    """total + a @ b, a in float32 and b in half precision, on tensor cores, which multiply bfloat16 exactly.

        a = a_1 + a_2 + a_3,   b = b_1 + b_2     bfloat16, of 8 bits each: exact for |a| >= 2^-110
        a @ b = (a_1 + a_2 + a_3) @ b_1 + (a_1 + a_2) @ b_2 + a_3 @ b_2,   the last one below 2^-24, left out

    A b of bfloat16 is b_1; one of float16 has 11 bits. One piece of a would be off by 2^-8, more than the rounding of
    the result; two by 2^-16. An infinity gives NaN, where it meets a piece that is 0, or infinity.
    """
    first = first_bits(a)
    rest = tl.where(tl.abs(a) == float("inf"), 0.0, a - first)
    second = first_bits(rest)
    a_1, a_2, a_3 = first.to(tl.bfloat16), second.to(tl.bfloat16), (rest - second).to(tl.bfloat16)
    if b.dtype == tl.bfloat16:
        return tl.dot(a_3, b, tl.dot(a_2, b, tl.dot(a_1, b, total)))
    first = first_bits(b.to(tl.float32))
    b_1, b_2 = first.to(tl.bfloat16), (b.to(tl.float32) - first).to(tl.bfloat16)
    total = tl.dot(a_3, b_1, tl.dot(a_2, b_1, tl.dot(a_1, b_1, total)))
    return tl.dot(a_2, b_2, tl.dot(a_1, b_2, total))


@triton.jit
def product_of_two_dtypes(
    a_ptr, b_ptr, rows, cols, M, N, depth, a_row, a_col, b_row, b_col,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):  # fmt: skip
    """`product_of_tiles` where a and b differ in dtype, without the loss of a bit of either."""
    total = tl.zeros((TILE_M, TILE_N), tl.float32)
    for start in range(0, depth, TILE_K):
        k = (start + tl.arange(0, TILE_K)).to(tl.int64)
        a, b = load_tiles(a_ptr, b_ptr, rows, cols, k, M, N, depth, a_row, a_col, b_row, b_col)
        if a.dtype == tl.float32:
            total = add_product_in_pieces(a, b, total)
        else:
            total = tl.dot(a.to(tl.float32), b.to(tl.float32), total, input_precision="ieee")
    return total


@triton.jit
def add_product_kernel(
    a_ptr, b_ptr, add_ptr, c_ptr, count_ptr, M, N, K, a_row, a_col, b_row, b_col,
    INNER: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):  # fmt: skip
    """Program (i, j) does tile (i, j) of C = A @ B, or of C = add + A @ B. add and C: (M, N), contiguous.

    count_ptr: None, or how many rows of A (if INNER, of B) count. A tile without one is 0, and nothing is read for it.
    """
    rows = (tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]
    cols = (tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]
    inside = (rows < M) & (cols < N)
    depth = K
    if count_ptr is not None:
        count = tl.load(count_ptr).to(tl.int32)
        depth = tl.minimum(K, count) if INNER else tl.where(tl.program_id(0) * BLOCK_M < count, K, 0)
    product: tl.constexpr = (
        product_of_tiles if a_ptr.dtype.element_ty == b_ptr.dtype.element_ty else product_of_two_dtypes
    )
    total = product(
        a_ptr, b_ptr, rows, cols, M, N, depth, a_row, a_col, b_row, b_col, BLOCK_M, BLOCK_N, BLOCK_K
    )  # fmt: skip
    if add_ptr is not None:
        total += tl.load(add_ptr + rows * N + cols, mask=inside, other=0.0)
    tl.store(c_ptr + rows * N + cols, total.to(c_ptr.dtype.element_ty), mask=inside)


def tiles_of_product(a: torch.Tensor, b: torch.Tensor) -> tuple[int, int, int]:
    """(BLOCK_M, BLOCK_N, BLOCK_K) for matrices of one dtype, or of two, of which a float32 a goes in pieces."""
    if a.dtype == b.dtype:
        return tiles(a, b)
    if a.dtype != torch.float32:
        return 64, 64, 16
    return (64, 64, 32) if min(a.shape[0], b.shape[1]) <= 64 else (128, 256, 32)


def add_product(
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor,
    add: torch.Tensor | None = None,
    count: torch.Tensor | None = None,
    inner: bool = False,
) -> None:
    """Writes a @ b into c, or add + a @ b, where add may be c itself. a: (M, K), b: (K, N), any strides.

    count: how many rows of a, or (inner) of b, count: a scalar on the device. The others come last.
    """
    (M, K), N = a.shape, b.shape[1]
    block_m, block_n, block_k = tiles_of_product(a, b)
    grid = (triton.cdiv(M, block_m), triton.cdiv(N, block_n))
    add_product_kernel[grid](
        a, b, add, c, count, M, N, K, *a.stride(), *b.stride(),
        INNER=inner, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, num_warps=8,
    )  # fmt: skip


@triton.jit
def mean_kernel(x_ptr, mean_ptr, n, BLOCK: tl.constexpr):
    """One program: the mean of n numbers; 0 where there are none."""
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(mean_ptr, tl.sum(total) / tl.maximum(n, 1))


def linear_rows(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    labels: torch.Tensor,
    kept: torch.Tensor,
    ignore_index: int,
    dloss: torch.Tensor | None = None,
    count: torch.Tensor | None = None,
) -> tuple:
    """(loss, dhidden, dweight): the loss of each row in ``kept``, and the gradients for its upstream gradient dloss.

    kept: (n,) int64, the rows that count; or all rows, those that count first, and count says how many: a scalar on
    the device, for which the host need not wait. Without dloss the gradients are None, and not computed.
    """
    n, (V, D), device = len(kept), weight.shape, weight.device
    loss = torch.empty(n, dtype=torch.float32, device=device)
    if dloss is not None:
        dhidden, dweight = torch.zeros_like(hidden), torch.zeros(V, D, dtype=weight.dtype, device=device)
        total = torch.empty(V, D, dtype=torch.float32, device=device)  # dweight so far
    size = max(16, triton.cdiv(n, 16))
    for start in range(0, n, size):
        rows, here = kept[start : start + size], slice(start, start + size)
        left = None if count is None else count - start
        x, y = hidden.index_select(0, rows), labels.index_select(0, rows)
        logits = torch.empty(len(rows), V, dtype=torch.float32, device=device)
        add_product(x, weight.t(), logits, count=left)
        losses_here, lse = losses(logits, y, ignore_index)
        loss[here].copy_(losses_here)
        if dloss is not None:
            dlogits = cross_entropy_backward(dloss[here], logits, y, lse, ignore_index)
            dx = torch.empty_like(x)
            add_product(dlogits, weight, dx, count=left)
            dhidden.index_copy_(0, rows, dx)
            out, add = dweight if start + size >= n else total, total if start else None
            add_product(dlogits.t(), x, out, add, left, inner=True)
    return loss, dhidden if dloss is not None else None, dweight if dloss is not None else None


def linear_cross_entropy_forward_backward(
    hidden: torch.Tensor, weight: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(loss, dhidden, dweight): the mean over the rows that count, in float32, and its gradients, like their tensors.

    Where no row counts all three are 0. Raises IndexError for a label out of range.
    """
    check_labels(labels, weight.shape[0], ignore_index)
    kept = labels.ne(ignore_index).nonzero().view(-1)
    n = len(kept)
    dloss = torch.full((n,), 1 / max(n, 1), dtype=torch.float32, device=hidden.device)
    loss, dhidden, dweight = linear_rows(hidden, weight, labels, kept, ignore_index, dloss)
    mean = torch.empty((), dtype=torch.float32, device=hidden.device)
    mean_kernel[(1,)](loss, mean, n, BLOCK=1024)
    return mean, dhidden, dweight
