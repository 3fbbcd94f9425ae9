# Right: 16 tokens by 64 columns a program, place after place, with a float32 tile.
import torch
import triton
import triton.language as tl


@triton.jit
def _smallest_bad(index_ptr, first_ptr, total, limit, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(index_ptr + i, mask=i < total, other=-1)
    bad = (v != -1) & ((v < 0) | (v >= limit))
    tl.atomic_min(first_ptr, tl.min(tl.where(bad, i, 1 << 62), axis=0))


def _check(index, limit):
    if index.numel():
        first = torch.full((1,), 1 << 62, dtype=torch.int64, device=index.device)
        _smallest_bad[(triton.cdiv(index.numel(), 128),)](index, first, index.numel(), limit, BLOCK=128)
        at = first.item()
        if at < index.numel():
            t, j = divmod(at, index.shape[1])
            raise IndexError(f"token {t}, place {j}: {index[t, j].item()} is outside of 0 to {limit - 1}")


@triton.jit
def _tile(rows_ptr, w_ptr, slots_ptr, y_ptr, T, D, k, sr, sd, TOKENS: tl.constexpr, COLS: tl.constexpr):
    t = (tl.program_id(1) * TOKENS + tl.arange(0, TOKENS)).to(tl.int64)
    c = (tl.program_id(0) * COLS + tl.arange(0, COLS)).to(tl.int64)
    acc = tl.zeros((TOKENS, COLS), tl.float32)
    for j in range(0, k):
        slot = tl.load(slots_ptr + t * k + j, mask=t < T, other=-1)
        w = tl.load(w_ptr + t * k + j, mask=slot >= 0, other=0.0)
        x = tl.load(
            rows_ptr + slot[:, None] * sr + c[None, :] * sd, mask=(slot >= 0)[:, None] & (c < D)[None, :], other=0.0
        )
        acc += w[:, None] * x.to(tl.float32)
    tl.store(
        y_ptr + t[:, None] * D + c[None, :], acc.to(y_ptr.dtype.element_ty), mask=(t < T)[:, None] & (c < D)[None, :]
    )


def moe_sum_forward(rows, weights, slots):
    T, k = slots.shape
    S, D = rows.shape
    _check(slots, S)
    y = torch.empty(T, D, dtype=rows.dtype, device=rows.device)
    if T:
        grid = (triton.cdiv(D, 64), triton.cdiv(T, 16))
        _tile[grid](rows, weights, slots, y, T, D, k, rows.stride(0), rows.stride(1), TOKENS=16, COLS=64)
    return y
