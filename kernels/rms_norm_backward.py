"""The gradients of RMS norm in Triton, in two stages as for layer norm: the same bits every time, on every GPU.

    dx = rstd · (g - x̂ · mean(g · x̂)),   g = dy · weight,   x̂ = x · rstd
    dweight = Σ_rows dy · x̂

dy, x, dx: (M, N)   weight, dweight: (N,)   rstd: (M,) float32. Zhang and Sennrich 2019, arXiv:1910.07467.
Float32 inside, rounded once at the store. A row that fits in a block is read once, a longer one twice.
"""

import torch

from .language import tl, triton
from .layer_norm_backward import GROUPS, WHOLE, column_sums, part_of_row


# %% rms_norm_backward
@triton.jit
def rms_norm_means_kernel(dy_ptr, x_ptr, weight_ptr, rstd_ptr, means_ptr, N, BLOCK: tl.constexpr):
    """Program m stores mean(g · x̂) of row m, which it goes through block by block."""
    row = tl.program_id(0).to(tl.int64)
    rstd = tl.load(rstd_ptr + row)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        g = part_of_row(dy_ptr, row, cols, N) * part_of_row(weight_ptr, 0, cols, N)
        total += g * (part_of_row(x_ptr, row, cols, N) * rstd)
    tl.store(means_ptr + row, tl.sum(total) / N)


@triton.jit
def rms_norm_backward_kernel(
    dy_ptr, x_ptr, weight_ptr, rstd_ptr, means_ptr, dx_ptr, dweight_ptr, M, N, rows, BLOCK: tl.constexpr
):
    """Program (p, c) does block c of ``rows`` rows and of partial sum p. means_ptr: None where a block holds a row."""
    first = tl.program_id(0).to(tl.int64) * rows
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < N
    weight = part_of_row(weight_ptr, 0, cols, N)
    dweight = tl.zeros([BLOCK], tl.float32)
    for i in range(tl.minimum(M - first, rows).to(tl.int32)):
        row = first + i
        dy = part_of_row(dy_ptr, row, cols, N)
        x = part_of_row(x_ptr, row, cols, N)
        rstd = tl.load(rstd_ptr + row)

        g = dy * weight
        normal = x * rstd  # x̂
        if means_ptr is None:
            gx_mean = tl.sum(g * normal) / N
        else:
            gx_mean = tl.load(means_ptr + row)
        dx = rstd * (g - normal * gx_mean)
        dweight += dy * normal

        tl.store(dx_ptr + row * N + cols, dx.to(dx_ptr.dtype.element_ty), mask=mask)
    tl.store(dweight_ptr + tl.program_id(0).to(tl.int64) * N + cols, dweight, mask=mask)


def rms_norm_backward(
    dy: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """(dx, dweight), in the dtypes of x and weight; rstd is rms_norm_forward's.

    Strides: any for dy and x; weight and rstd are contiguous.
    """
    dy, x = dy.contiguous(), x.contiguous()
    weight, rstd = weight.contiguous(), rstd.contiguous()
    M, N = x.shape
    dx, dweight = torch.empty_like(x), torch.empty_like(weight)
    if not x.numel():
        return dx, dweight.zero_()
    rows = triton.cdiv(M, GROUPS)
    groups = triton.cdiv(M, rows)
    dweights = torch.empty(groups, N, dtype=torch.float32, device=x.device)
    block, means = triton.next_power_of_2(N), None
    if N > WHOLE:
        block, means = 2048, torch.empty_like(rstd)
        rms_norm_means_kernel[(M,)](dy, x, weight, rstd, means, N, BLOCK=block)
    rms_norm_backward_kernel[(groups, triton.cdiv(N, block))](
        dy, x, weight, rstd, means, dx, dweights, M, N, rows, BLOCK=block, num_warps=max(block // 512, 1)
    )
    column_sums(dweights, dweight)
    return dx, dweight
