"""RMS norm in Triton for a batch of one as for many: a row is shared out among programs by its length alone.

    y = x / √(mean(x²) + eps) · weight     x, y: (M, N)   weight: (N,)

Squares are summed in float32, in parts of a fixed length. Each program of a row adds up the parts in their order.
"""

import torch

from .language import tl, triton

# %% norm_of_rows
PART = 1024  # columns of a program: they follow nothing


@triton.jit
def squares_of_parts_kernel(x_ptr, squares_ptr, N, parts, x_row, x_col, PART: tl.constexpr):
    """Program (m, p) sums the squares of part p of row m."""
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    cols = part * PART + tl.arange(0, PART)
    x = tl.load(x_ptr + row * x_row + cols * x_col, mask=cols < N, other=0.0).to(tl.float32)
    tl.store(squares_ptr + row * parts + part, tl.sum(x * x))


@triton.jit
def scaled_parts_kernel(
    x_ptr, weight_ptr, squares_ptr, y_ptr, N, parts, x_row, x_col, eps, PART: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """Program (m, p) does part p of row m of y, which is contiguous."""
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    every = tl.arange(0, PARTS)
    squares = tl.sum(tl.load(squares_ptr + row * parts + every, mask=every < parts, other=0.0))
    rstd = tl.rsqrt(squares / N + eps)
    cols = part * PART + tl.arange(0, PART)
    x = tl.load(x_ptr + row * x_row + cols * x_col, mask=cols < N, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * N + cols, (x * rstd * weight).to(y_ptr.dtype.element_ty), mask=cols < N)


def norm_of_rows(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """y = x / √(mean(x²) + eps) · weight for each row of x (M, N), in x's dtype.

    A row has the same bits whatever rows are beside it, so `tl.atomic_add` of floats is refused: nobody knows its
    order. Several programs share a row of more than 16,384 numbers. N is 1 or more. Strides: any for x; weight is
    contiguous.
    """
    weight = weight.contiguous()
    M, N = x.shape
    y = torch.empty(M, N, dtype=x.dtype, device=x.device)
    parts = triton.cdiv(N, PART)
    squares = torch.empty(M, parts, dtype=torch.float32, device=x.device)
    if M:
        squares_of_parts_kernel[(M, parts)](x, squares, N, parts, *x.stride(), PART=PART)
        scaled_parts_kernel[(M, parts)](
            x, weight, squares, y, N, parts, *x.stride(), eps,
            PART=PART, PARTS=triton.next_power_of_2(parts),
        )  # fmt: skip
    return y
