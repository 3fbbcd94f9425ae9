"""First kernels in Triton: a block of elements to a program, and a row of elements to a program.

axpy:     y' = a · x + y     BLAS level 1; elementwise over any shape
row_sum:  s_i = Σ_j x_ij     a reduction over a row longer than a block

float32 inside, rounded once at the store. axpy moves 3 numbers an element, row_sum one.
"""

import torch

from .language import tl, triton

# %% axpy
BLOCK = 1024


@triton.jit
def axpy_kernel(a, x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Program p does elements p · BLOCK to (p + 1) · BLOCK."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n

    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0).to(tl.float32)

    out = a * x + y

    tl.store(out_ptr + offsets, out.to(out_ptr.dtype.element_ty), mask=mask)


def axpy(a: float, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """a · x + y, elementwise. a: a Python float. x and y of one shape, float32, float16 or bfloat16; the result too.

    Strides: any for x and y.
    """
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    if x.numel():
        axpy_kernel[(triton.cdiv(x.numel(), BLOCK),)](float(a), x, y, out, x.numel(), BLOCK=BLOCK)
    return out


# %% row_sum
@triton.jit
def row_sum_kernel(x_ptr, sum_ptr, N, BLOCK_N: tl.constexpr):
    """Program i sums row i, block after block, and adds up the lanes at the end."""
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        total += tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)
    tl.store(sum_ptr + row, tl.sum(total).to(sum_ptr.dtype.element_ty))


def row_sum(x: torch.Tensor) -> torch.Tensor:
    """The sum of every row of x: (M, N) gives (M,), accumulated in float32, in the dtype of x. A sum of none is 0.

    Strides: any for x.
    """
    M, N = x.shape
    x = x.contiguous()
    sums = torch.empty(M, dtype=x.dtype, device=x.device)
    if M:
        row_sum_kernel[(M,)](x, sums, N, BLOCK_N=1024)
    return sums
