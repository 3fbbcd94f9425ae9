# Right: one program per token walks over the columns in blocks of 64 and, inside, over the places with masks.
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
def _walk(rows_ptr, w_ptr, slots_ptr, y_ptr, D, k, sr, sd, BLOCK: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    for start in range(0, D, BLOCK):
        cols = (start + tl.arange(0, BLOCK)).to(tl.int64)
        acc = tl.zeros((BLOCK,), tl.float32)
        for j in range(0, k):
            slot = tl.load(slots_ptr + t * k + j)
            w = tl.load(w_ptr + t * k + j, mask=slot != -1, other=0.0)
            x = tl.load(rows_ptr + slot * sr + cols * sd, mask=(cols < D) & (slot != -1), other=0.0)
            acc = acc + x.to(tl.float32) * w
        tl.store(y_ptr + t * D + cols, acc.to(y_ptr.dtype.element_ty), mask=cols < D)


def moe_sum_forward(rows, weights, slots):
    T, k = slots.shape
    S, D = rows.shape
    _check(slots, S)
    y = torch.zeros(T, D, dtype=rows.dtype, device=rows.device)
    if S > 0 and k > 0 and T > 0:
        _walk[(T,)](rows, weights, slots, y, D, k, *rows.stride(), BLOCK=64)
    return y
