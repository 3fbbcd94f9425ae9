"""The gradients of layer norm in Triton, in two stages and without atomics: the same bits every time, on every GPU.

    dx = rstd · (g - mean(g) - x̂ · mean(g · x̂)),   g = dy · weight,   x̂ = (x - mean) · rstd
    dweight = Σ_rows dy · x̂,   dbias = Σ_rows dy

dy, x, dx: (M, N)   weight, dweight, dbias: (N,)   mean, rstd: (M,) float32. Ba et al. 2016, arXiv:1607.06450.
Float32 inside, rounded once at the store. A row that fits in a block is read once, a longer one twice. The first stage
leaves one partial sum of dweight and dbias for each group of rows; the second adds them up.
"""

import torch

from .language import tl, triton

# %% layer_norm_backward
GROUPS = 256  # of rows, each with a program; a constant, for a number taken from the GPU would change the rounding
WHOLE = 8192  # the longest row of which a program keeps x, dy and its share of dweight and dbias in registers


@triton.jit
def part_of_row(ptr, row, cols, N):
    """Columns ``cols`` of a row of an (M, N) matrix, in float32; 0 beyond its end."""
    return tl.load(ptr + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)


@triton.jit
def backward_means(d_sum, g_sum, gd_sum, rstd, N):
    """(rest, mean(g), mean(g · x̂)), from the sums of d = x - mean, g and g · d. rest = mean(d) is mean's rounding."""
    rest = d_sum / N
    g_mean = g_sum / N
    return rest, g_mean, (gd_sum / N - rest * g_mean) * rstd


@triton.jit
def layer_norm_means_kernel(dy_ptr, x_ptr, weight_ptr, mean_ptr, rstd_ptr, means_ptr, N, BLOCK: tl.constexpr):
    """Program m does row m, block by block, and stores its three means."""
    row = tl.program_id(0).to(tl.int64)
    mean = tl.load(mean_ptr + row)
    d_sum = tl.zeros([BLOCK], tl.float32)
    g_sum = tl.zeros([BLOCK], tl.float32)
    gd_sum = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        g = part_of_row(dy_ptr, row, cols, N) * part_of_row(weight_ptr, 0, cols, N)
        d = tl.where(cols < N, part_of_row(x_ptr, row, cols, N) - mean, 0.0)
        d_sum += d
        g_sum += g
        gd_sum += g * d
    means = backward_means(tl.sum(d_sum), tl.sum(g_sum), tl.sum(gd_sum), tl.load(rstd_ptr + row), N)
    tl.store(means_ptr + row * 3, means[0])
    tl.store(means_ptr + row * 3 + 1, means[1])
    tl.store(means_ptr + row * 3 + 2, means[2])


@triton.jit
def layer_norm_backward_kernel(
    dy_ptr, x_ptr, weight_ptr, mean_ptr, rstd_ptr, means_ptr, dx_ptr, dweight_ptr, dbias_ptr, M, N, rows,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Program (p, c) does block c of ``rows`` rows and of partial sum p. means_ptr: None where a block holds a row."""
    first = tl.program_id(0).to(tl.int64) * rows
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < N
    weight = part_of_row(weight_ptr, 0, cols, N)
    dweight = tl.zeros([BLOCK], tl.float32)
    dbias = tl.zeros([BLOCK], tl.float32)
    for i in range(tl.minimum(M - first, rows).to(tl.int32)):
        row = first + i
        dy = part_of_row(dy_ptr, row, cols, N)
        x = part_of_row(x_ptr, row, cols, N)
        rstd = tl.load(rstd_ptr + row)

        g = dy * weight
        d = tl.where(mask, x - tl.load(mean_ptr + row), 0.0)  # lanes beyond the row hold 0, not -mean
        if means_ptr is None:
            rest, g_mean, gx_mean = backward_means(tl.sum(d), tl.sum(g), tl.sum(g * d), rstd, N)
        else:
            rest = tl.load(means_ptr + row * 3)
            g_mean = tl.load(means_ptr + row * 3 + 1)
            gx_mean = tl.load(means_ptr + row * 3 + 2)
        normal = (d - rest) * rstd  # x̂
        dx = rstd * (g - g_mean - normal * gx_mean)
        dweight += dy * normal
        dbias += dy

        tl.store(dx_ptr + row * N + cols, dx.to(dx_ptr.dtype.element_ty), mask=mask)
    at = tl.program_id(0).to(tl.int64) * N + cols
    tl.store(dweight_ptr + at, dweight, mask=mask)
    tl.store(dbias_ptr + at, dbias, mask=mask)


@triton.jit
def column_sums_kernel(partial_ptr, out_ptr, P, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Program c adds up COLS columns of the (P, N) partial sums, in an order that is always the same."""
    cols = tl.program_id(0).to(tl.int64) * COLS + tl.arange(0, COLS)
    total = tl.zeros([ROWS, COLS], tl.float32)
    for start in range(0, P, ROWS):
        rows = (start + tl.arange(0, ROWS))[:, None]
        at = rows.to(tl.int64) * N + cols[None, :]
        total += tl.load(partial_ptr + at, mask=(rows < P) & (cols < N)[None, :], other=0.0)
    tl.store(out_ptr + cols, tl.sum(total, 0).to(out_ptr.dtype.element_ty), mask=cols < N)


def column_sums(partial: torch.Tensor, out: torch.Tensor) -> None:
    """Writes the sum of partial (P, N) over its rows into out (N,), rounded once to out's dtype."""
    P, N = partial.shape
    column_sums_kernel[(triton.cdiv(N, 64),)](partial, out, P, N, ROWS=64, COLS=64)


def layer_norm_backward(
    dy: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(dx, dweight, dbias), in the dtypes of x, weight and weight; mean and rstd are layer_norm_forward's.

    Strides: any for dy and x; weight, mean and rstd are contiguous.
    """
    dy, x = dy.contiguous(), x.contiguous()
    weight, mean, rstd = weight.contiguous(), mean.contiguous(), rstd.contiguous()
    M, N = x.shape
    dx, dweight, dbias = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(weight)
    if not x.numel():
        return dx, dweight.zero_(), dbias.zero_()
    rows = triton.cdiv(M, GROUPS)
    groups = triton.cdiv(M, rows)
    dweights, dbiases = (torch.empty(groups, N, dtype=torch.float32, device=x.device) for _ in range(2))
    block, means = triton.next_power_of_2(N), None
    if N > WHOLE:
        block, means = 2048, torch.empty(M, 3, dtype=torch.float32, device=x.device)
        layer_norm_means_kernel[(M,)](dy, x, weight, mean, rstd, means, N, BLOCK=block)
    grid = (groups, triton.cdiv(N, block))
    layer_norm_backward_kernel[grid](
        dy, x, weight, mean, rstd, means, dx, dweights, dbiases, M, N, rows, BLOCK=block, num_warps=max(block // 512, 1)
    )
    column_sums(dweights, dweight)
    column_sums(dbiases, dbias)
    return dx, dweight, dbias
