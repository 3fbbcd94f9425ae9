# Wrong: [race] a program per place adds atomically into y of the dtype of the rows: rounded k times, in any order.
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
def _scatter(rows_ptr, w_ptr, slots_ptr, y_ptr, D, k, sr, sd, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64)
    cols = (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    slot = tl.load(slots_ptr + place)
    if slot >= 0:
        x = tl.load(rows_ptr + slot * sr + cols * sd, mask=cols < D, other=0.0).to(tl.float32)
        part = x * tl.load(w_ptr + place)
        tl.atomic_add(y_ptr + place // k * D + cols, part.to(y_ptr.dtype.element_ty), mask=cols < D)


def moe_sum_forward(rows, weights, slots):
    (S, D), (T, k) = rows.shape, slots.shape
    _check(slots, S)
    y = torch.zeros(T, D, dtype=rows.dtype, device=rows.device)
    if T * k:
        _scatter[(T * k, triton.cdiv(D, 256))](rows, weights, slots, y, D, k, *rows.stride(), BLOCK=256)
    return y
