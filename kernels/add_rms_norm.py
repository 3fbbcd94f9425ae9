"""RMS norm of a sum, with the sum, in Triton: what stands between two layers of a transformer, in one pass.

    total = x + residual,   y = total / √(mean(total²) + eps) · weight

x, residual, y, total: (M, N)   weight: (N,). Float32 inside, each output rounded once at its store: the norm is that of
the sum before it is rounded. A row that fits in a block is read once; a longer one is read again for y.
"""

import torch

from .language import tl, triton

# %% add_rms_norm
BLOCK = 16384  # the longest row that one program holds in its registers


@triton.jit
def sum_of(x_ptr, residual_ptr, cols, N):
    """x + residual in float32, 0 past the end of the row."""
    x = tl.load(x_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    return x + tl.load(residual_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)


@triton.jit
def add_rms_norm_kernel(x_ptr, residual_ptr, weight_ptr, y_ptr, total_ptr, N, eps, BLOCK: tl.constexpr):
    """Program m does row m."""
    row = tl.program_id(0).to(tl.int64) * N
    cols = tl.arange(0, BLOCK)
    mask = cols < N

    total = sum_of(x_ptr + row, residual_ptr + row, cols, N)
    tl.store(total_ptr + row + cols, total.to(total_ptr.dtype.element_ty), mask=mask)

    rstd = tl.rsqrt(tl.sum(total * total) / N + eps)
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)

    tl.store(y_ptr + row + cols, (total * rstd * weight).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def add_rms_norm_long_kernel(x_ptr, residual_ptr, weight_ptr, y_ptr, total_ptr, N, eps, BLOCK: tl.constexpr):
    """Program m does row m, block by block, twice."""
    row = tl.program_id(0).to(tl.int64) * N
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total = sum_of(x_ptr + row, residual_ptr + row, cols, N)
        tl.store(total_ptr + row + cols, total.to(total_ptr.dtype.element_ty), mask=cols < N)
        squares += total * total
    rstd = tl.rsqrt(tl.sum(squares) / N + eps)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total = sum_of(x_ptr + row, residual_ptr + row, cols, N)
        weight = tl.load(weight_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
        tl.store(y_ptr + row + cols, (total * rstd * weight).to(y_ptr.dtype.element_ty), mask=cols < N)


def add_rms_norm(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6
) -> tuple[torch.Tensor, torch.Tensor]:
    """(y, total): total = x + residual, y = total · weight / √(mean(total²) + eps) for each row; both in x's dtype.

    x and residual: (M, N) of one dtype, any strides; weight: (N,), contiguous.
    """
    x, residual, weight = x.contiguous(), residual.contiguous(), weight.contiguous()
    M, N = x.shape
    y, total = torch.empty_like(x), torch.empty_like(x)
    if x.numel():
        kernel, block = add_rms_norm_kernel, triton.next_power_of_2(N)
        if N > BLOCK:
            kernel, block = add_rms_norm_long_kernel, BLOCK // 4
        kernel[(M,)](x, residual, weight, y, total, N, eps, BLOCK=block, num_warps=min(max(block // 512, 1), 16))
    return y, total
