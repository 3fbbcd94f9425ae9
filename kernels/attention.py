"""Attention in Triton, by the online softmax: a program holds some queries and walks over the keys.

    s_ij = scale · q_i · k_j  where query i sees key j, -inf elsewhere        lse_i = log Σ_j e^(s_ij)
    o_i  = Σ_j p_ij v_j,   p_ij = e^(s_ij - lse_i)

q, o: (B, H, M, D)   k, v: (B, H, N, D)   lse: (B, H, M) float32, natural logarithm   key_lengths: (B,) int64.
Query i sees key j if j < key_lengths[b] and, if causal, j <= i + key_lengths[b] - M: the last query is aligned with the
last key. Scores and sums are float32; a half-precision p is rounded once before its product with v. Keys that no query
of a program sees are not read. Milakov and Gimelshein 2018, arXiv:1805.02867; Dao 2023, arXiv:2307.08691.
"""

import torch

from .language import tl, triton

# %% attention_forward
BLOCK = 64  # queries, and keys, at a time


@triton.jit
def rows_of(ptr, rows, stride_row, stride_col, length, D, BLOCK_D: tl.constexpr):
    """Rows of a matrix (length, D), BLOCK_D wide; 0 past its end and past its width."""
    cols = tl.arange(0, BLOCK_D)
    at = rows.to(tl.int64)[:, None] * stride_row + cols.to(tl.int64)[None, :] * stride_col
    return tl.load(ptr + at, mask=(rows < length)[:, None] & (cols < D)[None, :], other=0.0)


@triton.jit
def sees(rows, keys, M, length, CAUSAL: tl.constexpr):
    """(BLOCK_M, BLOCK_N) bool: which query sees which key."""
    seen = (rows < M)[:, None] & (keys < length)[None, :]
    if CAUSAL:
        seen = seen & (keys[None, :] <= rows[:, None] + (length - M))
    return seen


@triton.jit
def scores(q, k, scale):
    """scale · q kᵀ in float32, exactly as rounded: the default of input_precision takes 11 of a float32's 24 bits."""
    if q.dtype != k.dtype:
        q, k = q.to(tl.float32), k.to(tl.float32)
    return tl.dot(q, tl.trans(k), input_precision="ieee") * scale


@triton.jit
def key_length(lengths_ptr, batch, N):
    if lengths_ptr is None:
        length = N
    else:
        length = tl.load(lengths_ptr + batch).to(tl.int32)
    return length


@triton.jit
def attention_forward_kernel(
    q_ptr, k_ptr, v_ptr, lengths_ptr, o_ptr, lse_ptr, scale, H, M, N, D,
    q_b, q_h, q_m, q_d, k_b, k_h, k_n, k_d, v_b, v_h, v_n, v_d,
    GROUP: tl.constexpr, CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Program (i, b · H + h) does block i of the queries of head h. GROUP heads of q share one head of k and v."""
    head, batch = (tl.program_id(1) % H).to(tl.int64), (tl.program_id(1) // H).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    length = key_length(lengths_ptr, batch, N)
    q = rows_of(q_ptr + batch * q_b + head * q_h, rows, q_m, q_d, M, D, BLOCK_D)
    k_ptr += batch * k_b + head // GROUP * k_h
    v_ptr += batch * v_b + head // GROUP * v_h

    top = tl.full((BLOCK_M,), float("-inf"), tl.float32)  # the largest score so far
    total = tl.zeros((BLOCK_M,), tl.float32)  # Σ e^(s - top)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)  # Σ e^(s - top) v
    end = length
    if CAUSAL:  # the block's last query sees the most
        end = tl.minimum(length, (tl.program_id(0) + 1) * BLOCK_M + length - M)
    for start in range(0, end, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = rows_of(k_ptr, keys, k_n, k_d, length, D, BLOCK_D)
        s = scores(q, k, scale)
        s = tl.where(sees(rows, keys, M, length, CAUSAL), s, float("-inf"))
        new_top = tl.maximum(top, tl.max(s, 1))
        shift = tl.where(new_top == float("-inf"), 0.0, new_top)  # -inf - -inf is NaN
        p, keep = tl.exp(s - shift[:, None]), tl.exp(top - shift)
        total = total * keep + tl.sum(p, 1)
        v = rows_of(v_ptr, keys, v_n, v_d, length, D, BLOCK_D)
        acc = tl.dot(p.to(v.dtype), v, acc * keep[:, None], input_precision="ieee")
        top = new_top

    empty = total == 0.0  # no key: o is 0 and lse -inf
    o = acc / tl.where(empty, 1.0, total)[:, None]
    lse = tl.where(empty, float("-inf"), top + tl.log(tl.where(empty, 1.0, total)))
    rows = rows.to(tl.int64)
    cols = tl.arange(0, BLOCK_D)
    at = (tl.program_id(1).to(tl.int64) * M + rows[:, None]) * D + cols[None, :]
    tl.store(o_ptr + at, o.to(o_ptr.dtype.element_ty), mask=(rows < M)[:, None] & (cols < D)[None, :])
    tl.store(lse_ptr + tl.program_id(1).to(tl.int64) * M + rows, lse, mask=rows < M)


def blocks(q, k):
    """(BLOCK_M, BLOCK_N, BLOCK_D, num_warps): what the registers of a program hold. float32 takes four times the room:
    its products do not go through tensor cores.
    """
    width, half = max(16, triton.next_power_of_2(q.shape[3])), max(q.element_size(), k.element_size()) == 2
    size = BLOCK if half and width <= 128 else BLOCK // 2 if half or width <= 64 else BLOCK // 4
    return size, size, width, 4 if width <= 64 and half else 8


def attention_forward(q, k, v, key_lengths=None, causal=False, scale=None):
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
            GROUP=H // k.shape[1], CAUSAL=causal,
            BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_D=block_d, num_warps=warps,
        )  # fmt: skip
    return o, lse
