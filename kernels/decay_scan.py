"""A decaying sum along time in Triton, chunk by chunk.

    h_t = e^(g_t) · h_(t-1) + x_t,  nothing before the first     x, h: (T, D)   g = log_decay: (T,), 0 or below

A program walks along time with a block of columns. Within a chunk two windows of rows, one behind the other, are put
together as pairs (decay, sum): (a, h) and then (b, k) are (a · b, b · h + k). Every factor is at most 1.
"""

import torch

from .language import tl, triton

# %% decay_scan
CHUNK, BLOCK = 32, 32  # rows and columns of a tile


@triton.jit
def one_after_the_other(a, h, b, k):
    """Two windows of rows as one."""
    return a * b, b * h + k


@triton.jit
def decay_scan_kernel(x_ptr, g_ptr, y_ptr, T, D, x_row, x_col, g_step, CHUNK: tl.constexpr, BLOCK: tl.constexpr):
    """Program i does block i of the columns. x_row, x_col and g_step are strides."""
    d = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    last = (tl.arange(0, CHUNK) == CHUNK - 1)[:, None]
    before = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, T, CHUNK):
        t = (start + tl.arange(0, CHUNK)).to(tl.int64)
        mask = (t < T)[:, None] & (d < D)[None, :]
        x = tl.load(x_ptr + t[:, None] * x_row + d[None, :] * x_col, mask=mask, other=0.0).to(tl.float32)
        g = tl.load(g_ptr + t * g_step, mask=t < T, other=0.0)
        decay = tl.broadcast_to(tl.exp(g)[:, None], (CHUNK, BLOCK))
        decay, h = tl.associative_scan((decay, x), 0, one_after_the_other)
        h += decay * before[None, :]
        tl.store(y_ptr + t[:, None] * D + d[None, :], h.to(y_ptr.dtype.element_ty), mask=mask)
        before = tl.sum(tl.where(last, h, 0.0), 0)


def decay_scan(x: torch.Tensor, log_decay: torch.Tensor) -> torch.Tensor:
    """(T, D), like x: h_t = e^(log_decay_t) · h_(t-1) + x_t, from h = 0, in float32 and rounded once.

    log_decay: (T,) float32, from -100 to 0, or -inf, where h starts anew. What comes after t, NaN and infinity
    included, leaves no trace in row t. T may be 0. x: any strides; log_decay is contiguous.
    """
    T, D = x.shape
    y = torch.empty(T, D, dtype=x.dtype, device=x.device)
    if y.numel():
        grid = (triton.cdiv(D, BLOCK),)
        decay_scan_kernel[grid](
            x, log_decay, y, T, D, *x.stride(), *log_decay.stride(), CHUNK=CHUNK, BLOCK=BLOCK, num_warps=1
        )
    return y
