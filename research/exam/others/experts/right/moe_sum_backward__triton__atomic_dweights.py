# Right: column blocks in parallel; dweights by float atomics into zeros.
import torch
import triton
import triton.language as tl


@triton.jit
def _blocks(dy_ptr, rows_ptr, w_ptr, slots_ptr, drows_ptr, dw_ptr, D, k, gt, gd, sr, sd, BLOCK: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    c = (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    live = c < D
    g = tl.load(dy_ptr + t * gt + c * gd, mask=live, other=0.0).to(tl.float32)
    for j in range(0, k):
        slot = tl.load(slots_ptr + t * k + j)
        there = slot >= 0
        w = tl.load(w_ptr + t * k + j, mask=there, other=0.0)
        x = tl.load(rows_ptr + slot * sr + c * sd, mask=live & there, other=0.0).to(tl.float32)
        tl.store(drows_ptr + slot * D + c, (w * g).to(drows_ptr.dtype.element_ty), mask=live & there)
        tl.atomic_add(dw_ptr + t * k + j, tl.sum(g * x, axis=0), mask=there)


def moe_sum_backward(dy, rows, weights, slots):
    (S, D), (T, k) = rows.shape, slots.shape
    drows = torch.zeros((S, D), dtype=rows.dtype, device=rows.device)
    dweights = torch.zeros((T, k), dtype=torch.float32, device=weights.device)
    if T and S:
        _blocks[(T, triton.cdiv(D, 64))](
            dy, rows, weights, slots, drows, dweights, D, k, *dy.stride(), *rows.stride(), BLOCK=64
        )
    return drows, dweights
