# exercise: swiglu_backward
# backend: triton
"""x · s(x) as it is usually written: NaN at -infinity, as in PyTorch."""

import torch
import triton
import triton.language as tl


@triton.jit
def _swiglu_backward_kernel(dc_ptr, a_ptr, b_ptr, da_ptr, db_ptr, n, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n
    dc_row = tl.load(dc_ptr + offs, mask=mask, other=0).to(tl.float32)
    a_row = tl.load(a_ptr + offs, mask=mask, other=0).to(tl.float32)
    b_row = tl.load(b_ptr + offs, mask=mask, other=0).to(tl.float32)
    sig_a = tl.sigmoid(a_row)
    silu_a = a_row * sig_a
    db_row = dc_row * silu_a
    da_row = dc_row * (silu_a * (1 - sig_a) + sig_a) * b_row
    tl.store(da_ptr + offs, da_row.to(da_ptr.dtype.element_ty), mask=mask)
    tl.store(db_ptr + offs, db_row.to(db_ptr.dtype.element_ty), mask=mask)


def swiglu_backward(dc, a, b):
    dc, a, b = dc.contiguous(), a.contiguous(), b.contiguous()
    da, db = torch.empty_like(a), torch.empty_like(b)
    n = a.numel()
    if n:
        _swiglu_backward_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)](
            dc, a, b, da, db, n, BLOCK_SIZE=1024
        )
    return da, db
