# exercise: silu_forward
# backend: triton
"""A grid of two dimensions over rows, with the tensor's own strides and no copy."""

import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, columns, row_step, column_step, BLOCK: tl.constexpr):
    row, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    columns_here = block * BLOCK + tl.arange(0, BLOCK)
    mask = columns_here < columns
    x = tl.load(x_ptr + row * row_step + columns_here * column_step, mask=mask, other=0.0).to(tl.float32)
    y = x * tl.sigmoid(x)
    tl.store(y_ptr + row * columns + columns_here, y.to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rows = x if x.dim() == 2 else x.reshape(1, -1)
    if x.numel():
        grid = (rows.shape[0], triton.cdiv(rows.shape[1], 64))
        silu_kernel[grid](rows, y, rows.shape[1], rows.stride(0), rows.stride(1), BLOCK=64)
    return y
