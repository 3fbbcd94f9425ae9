# Wrong: a grid of D // 128 blocks drops the tail of every row (D = 200).
import torch
import triton
import triton.language as tl


@triton.jit
def _first_bad(index_ptr, first_ptr, total, limit, BLOCK: tl.constexpr):
    first = total
    for start in range(0, total, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(index_ptr + i, mask=i < total, other=-1)
        first = tl.minimum(first, tl.min(tl.where((v < -1) | (v >= limit), i, total), axis=0))
    tl.store(first_ptr, first)


def _check(index, limit):
    total = index.numel()
    if total == 0:
        return
    first = torch.empty(1, dtype=torch.int64, device=index.device)
    _first_bad[(1,)](index, first, total, limit, BLOCK=256)
    at = first.item()
    if at < total:
        t, j = divmod(at, index.shape[1])
        raise IndexError(f"token {t}: {index[t, j].item()} is not one of {limit}")


@triton.jit
def _combine(rows_ptr, w_ptr, slots_ptr, y_ptr, D, k, sr, sd, BLOCK: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = cols < D
    acc = tl.zeros((BLOCK,), tl.float32)
    for j in range(0, k):
        slot = tl.load(slots_ptr + t * k + j)
        if slot >= 0:
            w = tl.load(w_ptr + t * k + j)
            row = tl.load(rows_ptr + slot * sr + cols.to(tl.int64) * sd, mask=live, other=0.0)
            acc += w * row.to(tl.float32)
    tl.store(y_ptr + t * D + cols, acc.to(y_ptr.dtype.element_ty), mask=live)


def moe_sum_forward(rows, weights, slots):
    (S, D), (T, k) = rows.shape, slots.shape
    _check(slots, S)
    y = torch.empty((T, D), dtype=rows.dtype, device=rows.device)
    if T:
        _combine[(T, max(D // 128, 1))](rows, weights, slots, y, D, k, rows.stride(0), rows.stride(1), BLOCK=128)
    return y
