# Wrong: reads dy as if contiguous: the stride of 0 that a sum hands back, or a transposed dy.
import torch
import triton
import triton.language as tl


@triton.jit
def _split(dy_ptr, rows_ptr, w_ptr, slots_ptr, drows_ptr, dw_ptr, D, k, gt, gd, sr, sd, BLOCK: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    j = tl.program_id(1)
    slot = tl.load(slots_ptr + t * k + j)
    if slot >= 0:
        w = tl.load(w_ptr + t * k + j)
        acc = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, D, BLOCK):
            c = (start + tl.arange(0, BLOCK)).to(tl.int64)
            g = tl.load(dy_ptr + t * D + c, mask=c < D, other=0.0).to(tl.float32)
            x = tl.load(rows_ptr + slot * sr + c * sd, mask=c < D, other=0.0).to(tl.float32)
            acc += g * x
            tl.store(drows_ptr + slot * D + c, (w * g).to(drows_ptr.dtype.element_ty), mask=c < D)
        tl.store(dw_ptr + t * k + j, tl.sum(acc, axis=0))
    else:
        tl.store(dw_ptr + t * k + j, 0.0)


def moe_sum_backward(dy, rows, weights, slots):
    (S, D), (T, k) = rows.shape, slots.shape
    drows = torch.zeros((S, D), dtype=rows.dtype, device=rows.device)
    dweights = torch.empty((T, k), dtype=weights.dtype, device=weights.device)
    if T and k:
        _split[(T, k)](
            dy, rows, weights, slots, drows, dweights, D, k, dy.stride(0), dy.stride(1), rows.stride(0), rows.stride(1),
            BLOCK=128,
        )
    return drows, dweights
