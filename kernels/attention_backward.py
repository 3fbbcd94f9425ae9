"""The gradients of attention in Triton, from lse: the probabilities are computed again, block by block.

    p_ij = e^(s_ij - lse_i)              δ_i = do_i · o_i
    dv_j = Σ_i p_ij do_i                 ds_ij = p_ij (do_i · v_j - δ_i)
    dq_i = scale Σ_j ds_ij k_j           dk_j = scale Σ_i ds_ij q_i

q, o, do, dq: (B, H, M, D)   k, v: (B, H / group, N, D)   dk, dv: (B, H, N, D)   lse, δ: (B, H, M) float32, natural
logarithm. One kernel walks over the keys for dq and leaves δ for the other, which walks over the queries for dk and dv:
no atomics, so the same bits every time. Dao et al. 2022, arXiv:2205.14135, algorithm 4.
"""

import torch

from .attention import blocks, key_length, keys_seen, rows_of, scores, sees
from .language import tl, triton

# %% attention_backward


@triton.jit
def p_and_ds(s, dp, lse, delta):
    """p and ds of one tile, from scores and lse in base 2."""
    p = tl.exp2(s - lse)
    return p, p * (dp - delta)


@triton.jit
def attention_dq_kernel(
    do_ptr, q_ptr, k_ptr, v_ptr, o_ptr, lengths_ptr, lse_ptr, delta_ptr, dq_ptr, scale, H, M, N, D,
    g_b, g_h, g_m, g_d, q_b, q_h, q_m, q_d, k_b, k_h, k_n, k_d, v_b, v_h, v_n, v_d,
    GROUP: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Program (i, b · H + h) does block i of the queries of head h: δ, then dq."""
    pair = tl.program_id(1).to(tl.int64)
    head, batch = pair % H, pair // H
    first = tl.program_id(0) * BLOCK_M
    rows = first + tl.arange(0, BLOCK_M)
    length = key_length(lengths_ptr, batch, N)
    q = rows_of(q_ptr + batch * q_b + head * q_h, rows, q_m, q_d, M, D, BLOCK_D, True)
    g = rows_of(do_ptr + batch * g_b + head * g_h, rows, g_m, g_d, M, D, BLOCK_D, True)
    o = rows_of(o_ptr + pair * M * D, rows, D, 1, M, D, BLOCK_D, True)
    delta = tl.sum(g.to(tl.float32) * o.to(tl.float32), 1)
    tl.store(delta_ptr + pair * M + rows, delta, mask=rows < M)
    lse = tl.load(lse_ptr + pair * M + rows, mask=rows < M, other=0.0) * 1.4426950408889634
    g = g.to(q.dtype)
    k_ptr += batch * k_b + head // GROUP * k_h
    v_ptr += batch * v_b + head // GROUP * v_h
    dq = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    base = scale * 1.4426950408889634
    whole, end = keys_seen(first, M, length, CAUSAL, BLOCK_M, BLOCK_N)
    for start in range(0, whole, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = rows_of(k_ptr, keys, k_n, k_d, length, D, BLOCK_D, False)
        v = rows_of(v_ptr, keys, v_n, v_d, length, D, BLOCK_D, False)
        _, ds = p_and_ds(scores(q, k) * base, scores(g, v), lse[:, None], delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision="ieee")
    for start in range(whole, end, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = rows_of(k_ptr, keys, k_n, k_d, length, D, BLOCK_D, True)
        v = rows_of(v_ptr, keys, v_n, v_d, length, D, BLOCK_D, True)
        _, ds = p_and_ds(scores(q, k) * base, scores(g, v), lse[:, None], delta[:, None])
        ds = tl.where(sees(rows, keys, M, length, CAUSAL), ds, 0.0)
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision="ieee")
    cols = tl.arange(0, BLOCK_D)
    at = (pair * M + rows.to(tl.int64)[:, None]) * D + cols[None, :]
    tl.store(dq_ptr + at, (dq * scale).to(dq_ptr.dtype.element_ty), mask=(rows < M)[:, None] & (cols < D)[None, :])


@triton.jit
def add_queries(
    dk, dv, k, v, rows, q_ptr, do_ptr, lse_ptr, delta_ptr, base, M, D, q_m, q_d, g_m, g_d,
    keys, length, CAUSAL: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """dk and dv with one more block of queries, of which, if CAUSAL, some do not see some of the keys.

    Keys times queries, as the last two products take them: to transpose p and ds takes registers. A query past the end
    has q and do 0, and adds nothing.
    """
    q = rows_of(q_ptr, rows, q_m, q_d, M, D, BLOCK_D, True)
    g = rows_of(do_ptr, rows, g_m, g_d, M, D, BLOCK_D, True).to(q.dtype)
    lse = tl.load(lse_ptr + rows, mask=rows < M, other=0.0) * 1.4426950408889634
    delta = tl.load(delta_ptr + rows, mask=rows < M, other=0.0)
    p, ds = p_and_ds(scores(k, q) * base, scores(v, g), lse[None, :], delta[None, :])
    if CAUSAL:
        seen = tl.trans(sees(rows, keys, M, length, CAUSAL))
        p, ds = tl.where(seen, p, 0.0), tl.where(seen, ds, 0.0)
    dv = tl.dot(p.to(g.dtype), g, dv, input_precision="ieee")
    dk = tl.dot(ds.to(q.dtype), q, dk, input_precision="ieee")
    return dk, dv


@triton.jit
def attention_dk_dv_kernel(
    do_ptr, q_ptr, k_ptr, v_ptr, lengths_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, scale, H, M, N, D,
    g_b, g_h, g_m, g_d, q_b, q_h, q_m, q_d, k_b, k_h, k_n, k_d, v_b, v_h, v_n, v_d,
    GROUP: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Program (j, b · H + h) does block j of the keys of head h. Padding gets 0."""
    pair = tl.program_id(1).to(tl.int64)
    head, batch = pair % H, pair // H
    first = tl.program_id(0) * BLOCK_N
    keys = first + tl.arange(0, BLOCK_N)
    length = key_length(lengths_ptr, batch, N)
    k = rows_of(k_ptr + batch * k_b + head // GROUP * k_h, keys, k_n, k_d, length, D, BLOCK_D, True)
    v = rows_of(v_ptr + batch * v_b + head // GROUP * v_h, keys, v_n, v_d, length, D, BLOCK_D, True)
    q_ptr += batch * q_b + head * q_h
    do_ptr += batch * g_b + head * g_h
    lse_ptr += pair * M
    delta_ptr += pair * M
    base = scale * 1.4426950408889634
    dk = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)
    end = tl.where(first < length, M, 0)
    begin = 0
    if CAUSAL:  # from the first query that sees the block's first key, to the first that sees its last
        part = tl.maximum(first - (length - M), 0) // BLOCK_M * BLOCK_M
        begin = tl.maximum(first + BLOCK_N + BLOCK_M - 2 - (length - M), 0) // BLOCK_M * BLOCK_M
        for start in range(part, tl.minimum(begin, end), BLOCK_M):
            dk, dv = add_queries(
                dk, dv, k, v, start + tl.arange(0, BLOCK_M), q_ptr, do_ptr, lse_ptr, delta_ptr, base, M, D,
                q_m, q_d, g_m, g_d, keys, length, True, BLOCK_D,
            )  # fmt: skip
    for start in range(begin, end, BLOCK_M):
        dk, dv = add_queries(
            dk, dv, k, v, start + tl.arange(0, BLOCK_M), q_ptr, do_ptr, lse_ptr, delta_ptr, base, M, D,
            q_m, q_d, g_m, g_d, keys, length, False, BLOCK_D,
        )  # fmt: skip
    cols = tl.arange(0, BLOCK_D)
    at = (pair * N + keys.to(tl.int64)[:, None]) * D + cols[None, :]
    mask = (keys < N)[:, None] & (cols < D)[None, :]
    own = (keys < length)[:, None]  # 0 · NaN is NaN: padding is written, not computed
    tl.store(dk_ptr + at, tl.where(own, dk * scale, 0.0).to(dk_ptr.dtype.element_ty), mask=mask)
    tl.store(dv_ptr + at, tl.where(own, dv, 0.0).to(dv_ptr.dtype.element_ty), mask=mask)


def blocks_of_keys(q: torch.Tensor, k: torch.Tensor) -> tuple[int, int]:
    """(BLOCK_M, BLOCK_N) for dk and dv, of which a program keeps a sum for each of its keys: more keys than queries."""
    queries, keys, width, _ = blocks(q, k)
    return min(keys, 32 if width > 64 else 64), queries


def attention_backward(
    do: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    key_lengths: torch.Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(dq, dk, dv), like q, k and v, from what attention_forward returned as o and lse."""
    (B, H, M, D), N = q.shape, k.shape[2]
    dq = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    dk, dv = (torch.empty(B, H, N, D, dtype=x.dtype, device=x.device) for x in (k, v))
    delta = torch.empty(B, H, M, dtype=torch.float32, device=q.device)
    o, lse = o.contiguous(), lse.contiguous()
    key_lengths = None if key_lengths is None else key_lengths.contiguous()
    scale = D**-0.5 if scale is None else scale
    block_m, block_n, block_d, _ = blocks(q, k)
    strides = (*do.stride(), *q.stride(), *k.stride(), *v.stride())
    how = dict(GROUP=H // max(k.shape[1], 1), CAUSAL=causal, BLOCK_D=block_d, num_warps=8)
    if delta.numel():
        attention_dq_kernel[(triton.cdiv(M, block_m), B * H)](
            do, q, k, v, o, key_lengths, lse, delta, dq, scale, H, M, N, D, *strides,
            BLOCK_M=block_m, BLOCK_N=block_n, **how,
        )  # fmt: skip
    block_m, block_n = blocks_of_keys(q, k)
    if dk.numel():
        attention_dk_dv_kernel[(triton.cdiv(N, block_n), B * H)](
            do, q, k, v, key_lengths, lse, delta, dk, dv, scale, H, M, N, D, *strides,
            BLOCK_M=block_m, BLOCK_N=block_n, **how,
        )  # fmt: skip
    return dq, dk, dv
