# exercise: rms_norm_backward
# backend: triton
"""Autotuning that resets what a kernel adds to with atomics, and restores what it reads."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({}, num_warps=2), triton.Config({}, num_warps=4, num_stages=2)],
    key=["columns"],
    reset_to_zero=["total_ptr"],
    restore_value=["dx_ptr"],
)
@triton.jit
def rms_backward_kernel(dy_ptr, x_ptr, weight_ptr, rstd_ptr, dx_ptr, total_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    mask = c < columns
    dy = tl.load(dy_ptr + row * columns + c, mask=mask, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + row * columns + c, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(weight_ptr + c, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    mean = tl.sum(dy * w * x * rstd, 0) / columns
    tl.store(dx_ptr + row * columns + c, (rstd * (dy * w - x * rstd * mean)).to(dx_ptr.dtype.element_ty), mask=mask)
    tl.atomic_add(total_ptr + c, dy * x * rstd, mask=mask)


@triton.jit
def round_kernel(total_ptr, out_ptr, n, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(total_ptr + c, mask=c < n, other=0.0)
    tl.store(out_ptr + c, total.to(out_ptr.dtype.element_ty), mask=c < n)


def rms_norm_backward(dy, x, weight, rstd):
    dy, x, weight, rstd = (t.contiguous() for t in (dy, x, weight, rstd))
    rows, columns = x.shape
    dx, dweight = torch.zeros_like(x), torch.empty_like(weight)
    if not columns:
        return dx, dweight
    total = torch.zeros(columns, dtype=torch.float32, device=x.device)
    if rows:
        block = triton.next_power_of_2(columns)
        rms_backward_kernel[(rows,)](dy, x, weight, rstd, dx, total, columns, BLOCK=block)
    round_kernel[(triton.cdiv(columns, 256),)](total, dweight, columns, BLOCK=256)
    return dx, dweight
