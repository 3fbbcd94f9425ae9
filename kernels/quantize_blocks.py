"""Blocks of a row in float8 e4m3 with a float32 scale each, in Triton: one read of x, one write of q.

    scale_b = max |x| / 448 over the block     q = x / scale_b to the nearest     x: (M, N)

Micikevicius et al. 2022, arXiv:2209.05433; scales for blocks as in DeepSeek-V3, 2024, arXiv:2412.19437.
"""

import torch

from .language import tl, triton


# %% quantize_blocks
@triton.jit
def quantize_blocks_kernel(
    x_ptr, q_ptr, scale_ptr, total, per_row, N, ROWS: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Program p does ROWS blocks; block i is part i % per_row of row i // per_row."""
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    row, part = i // per_row, i % per_row
    cols = (part * BLOCK)[:, None] + tl.arange(0, BLOCK)[None, :]
    offsets = (row * N)[:, None] + cols
    mask = (i < total)[:, None] & (cols < N)

    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)

    bits = tl.max(x.to(tl.int32, bitcast=True) & 0x7FFFFFFF, axis=1)  # of |x|; those of NaN are the largest
    scale = bits.to(tl.float32, bitcast=True) / 448.0
    safe = tl.where(scale == 0.0, 1.0, scale)  # the scale is asked: it can be 0 where no element is
    q = x / safe[:, None]

    tl.store(q_ptr + offsets, q.to(tl.float8e4nv), mask=mask)
    tl.store(scale_ptr + i, scale, mask=i < total)


def quantize_blocks(x: torch.Tensor, block: int = 128) -> tuple[torch.Tensor, torch.Tensor]:
    """(q, scale): q like x, in float8_e4m3fn; scale (M, ceil(N / block)), float32. x: (M, N), float32 or half.

    scale is the largest absolute value of a block over 448, within 2 ulp, and q is x / scale to the nearest. Where the
    scale is 0 in float32, q is 0. block: a power of two from 16 to 1024; the last block of a row may be shorter. A NaN
    makes its scale NaN and itself, whatever is beside it in the block. Strides: any for x.
    """
    x = x.contiguous()
    M, N = x.shape
    per_row = triton.cdiv(N, block)
    q = torch.empty(M, N, dtype=torch.float8_e4m3fn, device=x.device)
    scale = torch.empty(M, per_row, dtype=torch.float32, device=x.device)
    rows = 2048 // block
    if M:
        grid = (triton.cdiv(M * per_row, rows),)
        quantize_blocks_kernel[grid](x, q, scale, M * per_row, per_row, N, ROWS=rows, BLOCK=block)
    return q, scale
