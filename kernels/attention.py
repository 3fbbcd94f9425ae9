"""Attention in Triton, by the online softmax: a program holds some queries and walks over the keys.

    s_ij = scale · q_i · k_j  where query i sees key j, -inf elsewhere        lse_i = log Σ_j e^(s_ij)
    o_i  = Σ_j p_ij v_j,   p_ij = e^(s_ij - lse_i)

q, o: (B, H, M, D)   k, v: (B, H, N, D)   lse: (B, H, M) float32, natural logarithm   key_lengths: (B,) int64.
Query i sees key j if j < key_lengths[b] and, if causal, j <= i + key_lengths[b] - M: the last query is aligned with the
last key. Scores and sums are float32; a half-precision p is rounded once before its product with v. Keys that no query
of a program sees are not read; blocks of keys that all of them see have no masks. Milakov and Gimelshein 2018,
arXiv:1805.02867; Dao 2023, arXiv:2307.08691.
"""

import torch

from .language import tl, triton


# %% attention_forward
@triton.jit
def rows_of(ptr, rows, stride_row, stride_col, length, D, BLOCK_D: tl.constexpr, CUT: tl.constexpr):
    """Rows of a matrix (length, D), BLOCK_D wide; 0 past its width and, if CUT, past its end."""
    cols = tl.arange(0, BLOCK_D)
    at = rows.to(tl.int64)[:, None] * stride_row + cols.to(tl.int64)[None, :] * stride_col
    inside = (cols < D)[None, :]
    if CUT:
        inside = inside & (rows < length)[:, None]
    return tl.load(ptr + at, mask=inside, other=0.0)


@triton.jit
def sees(rows, keys, M, length, CAUSAL: tl.constexpr):
    """(BLOCK_M, BLOCK_N) bool: which query sees which key. Past the last query it does not matter."""
    seen = (keys < length)[None, :]
    if CAUSAL:
        seen = seen & (keys[None, :] <= rows[:, None] + (length - M))
    return seen


@triton.jit
def scores(q, k):
    """q kᵀ in float32, exactly as rounded: the default of input_precision takes 11 of a float32's 24 bits."""
    if q.dtype != k.dtype:
        q, k = q.to(tl.float32), k.to(tl.float32)
    return tl.dot(q, tl.trans(k), input_precision="ieee")


@triton.jit
def key_length(lengths_ptr, batch, N):
    if lengths_ptr is None:
        length = N
    else:
        length = tl.load(lengths_ptr + batch).to(tl.int32)
    return length


@triton.jit
def keys_seen(first, M, length, CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """(whole, end): each query of the block at `first` sees every key up to whole, a number of blocks, and none from
    end on.
    """
    whole, end = length, length
    if CAUSAL:  # the block's first query sees the least, its last the most
        whole = tl.maximum(tl.minimum(length, first + 1 + length - M), 0)
        end = tl.minimum(length, first + BLOCK_M + length - M)
    return whole // BLOCK_N * BLOCK_N, end


@triton.jit
def add_block(top, total, acc, s, v, scale):
    """(top, total, acc) with one more block of scores s, before their scale, in base 2 and not negative."""
    new_top = tl.maximum(top, tl.max(s, 1) * scale)
    p, keep = tl.exp2(s * scale - new_top[:, None]), tl.exp2(top - new_top)
    acc = tl.dot(p.to(v.dtype), v, acc * keep[:, None], input_precision="ieee")
    return new_top, total * keep + tl.sum(p, 1), acc


@triton.jit
def attention_forward_kernel(
    q_ptr, k_ptr, v_ptr, lengths_ptr, o_ptr, lse_ptr, scale, H, M, N, D,
    q_b, q_h, q_m, q_d, k_b, k_h, k_n, k_d, v_b, v_h, v_n, v_d,
    GROUP: tl.constexpr, CAUSAL: tl.constexpr, SIGN: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Program (i, b · H + h) does block i of the queries of head h. GROUP heads of q share one head of k and v. SIGN is
    that of scale.
    """
    head, batch = (tl.program_id(1) % H).to(tl.int64), (tl.program_id(1) // H).to(tl.int64)
    first = tl.program_id(0) * BLOCK_M
    rows = first + tl.arange(0, BLOCK_M)
    length = key_length(lengths_ptr, batch, N)
    q = rows_of(q_ptr + batch * q_b + head * q_h, rows, q_m, q_d, M, D, BLOCK_D, True)
    k_ptr += batch * k_b + head // GROUP * k_h
    v_ptr += batch * v_b + head // GROUP * v_h

    scale = tl.abs(scale) * 1.4426950408889634  # exp2 for exp: the factor costs nothing here
    top = tl.full((BLOCK_M,), -3.0e38, tl.float32)  # the largest score so far; finite: -inf - -inf is NaN
    total = tl.zeros((BLOCK_M,), tl.float32)  # Σ 2^(s - top)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)  # Σ 2^(s - top) v
    whole, end = keys_seen(first, M, length, CAUSAL, BLOCK_M, BLOCK_N)
    for start in range(0, whole, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = rows_of(k_ptr, keys, k_n, k_d, length, D, BLOCK_D, False)
        v = rows_of(v_ptr, keys, v_n, v_d, length, D, BLOCK_D, False)
        top, total, acc = add_block(top, total, acc, scores(q, k) * SIGN, v, scale)
    for start in range(whole, end, BLOCK_N):  # apart, since masks double the instructions of a score
        keys = start + tl.arange(0, BLOCK_N)
        k = rows_of(k_ptr, keys, k_n, k_d, length, D, BLOCK_D, True)
        v = rows_of(v_ptr, keys, v_n, v_d, length, D, BLOCK_D, True)
        s = scores(q, k) * SIGN * scale
        s = tl.where(sees(rows, keys, M, length, CAUSAL), s, float("-inf"))
        top, total, acc = add_block(top, total, acc, s, v, 1.0)

    empty = total == 0.0  # no key: o is 0 and lse -inf
    o = acc / tl.where(empty, 1.0, total)[:, None]
    lse = tl.where(empty, float("-inf"), (top + tl.log2(tl.where(empty, 1.0, total))) * 0.6931471805599453)
    rows = rows.to(tl.int64)
    cols = tl.arange(0, BLOCK_D)
    at = (tl.program_id(1).to(tl.int64) * M + rows[:, None]) * D + cols[None, :]
    tl.store(o_ptr + at, o.to(o_ptr.dtype.element_ty), mask=(rows < M)[:, None] & (cols < D)[None, :])
    tl.store(lse_ptr + tl.program_id(1).to(tl.int64) * M + rows, lse, mask=rows < M)


def blocks(q: torch.Tensor, k: torch.Tensor) -> tuple[int, int, int, int]:
    """(BLOCK_M, BLOCK_N, BLOCK_D, num_warps): what the registers of a program hold. float32 takes four times the room:
    its products do not go through tensor cores.
    """
    width, half = max(16, triton.next_power_of_2(q.shape[3])), max(q.element_size(), k.element_size()) == 2
    if half and width <= 128 and q.dtype == k.dtype:
        return 128, 64, width, 4 if width <= 64 else 8
    size = 32 if half or width <= 64 else 16
    return size, size, width, 8


def attention_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    key_lengths: torch.Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(o, lse): o like q, lse (B, H, M) float32. scale: 1 / √D where it is left out."""
    (B, H, M, D), N = q.shape, k.shape[2]
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, M, dtype=torch.float32, device=q.device)
    key_lengths = None if key_lengths is None else key_lengths.contiguous()
    scale = D**-0.5 if scale is None else scale
    block_m, block_n, block_d, warps = blocks(q, k)
    if lse.numel():
        attention_forward_kernel[(triton.cdiv(M, block_m), B * H)](
            q, k, v, key_lengths, o, lse, scale, H, M, N, D, *q.stride(), *k.stride(), *v.stride(),
            GROUP=H // k.shape[1], CAUSAL=causal, SIGN=-1 if scale < 0 else 1,
            BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_D=block_d, num_warps=warps,
        )  # fmt: skip
    return o, lse
