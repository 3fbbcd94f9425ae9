"""The sum of each row in Triton, in parts of a fixed length: a row that is alone keeps several programs busy.

    sums_i = Σ_k x_ik     x: (M, K)   sums: (M,)

Parts are summed in float32, each by a program of its own, and then the parts of a row in their order.
"""

import torch

from .language import tl, triton

# %% split_k_sum
PART = 512  # the length of a part: it follows nothing


@triton.jit
def part_sums_kernel(x_ptr, parts_ptr, K, parts, x_row, x_col, PART: tl.constexpr):
    """Program (m, p) sums part p of row m."""
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    k = part * PART + tl.arange(0, PART)
    x = tl.load(x_ptr + row * x_row + k * x_col, mask=k < K, other=0.0).to(tl.float32)
    tl.store(parts_ptr + row * parts + part, tl.sum(x))


@triton.jit
def sums_of_parts_kernel(parts_ptr, sums_ptr, parts, BLOCK: tl.constexpr):
    """Program m adds the parts of row m."""
    row = tl.program_id(0).to(tl.int64)
    part = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(parts_ptr + row * parts + part, mask=part < parts, other=0.0))
    tl.store(sums_ptr + row, total.to(sums_ptr.dtype.element_ty))


def split_k_sum(x: torch.Tensor) -> torch.Tensor:
    """(M,): the sum of each row of x (M, K), in x's dtype, in parts that follow K alone.

    A row has the same bits whatever rows are beside it, so `tl.atomic_add` of floats is refused: nobody knows its
    order. Several programs share a row of more than 16,384 numbers. K may be 0. Strides: any for x.
    """
    M, K = x.shape
    parts = max(triton.cdiv(K, PART), 1)
    partial = torch.empty(M, parts, dtype=torch.float32, device=x.device)
    sums = torch.empty(M, dtype=x.dtype, device=x.device)
    if M:
        part_sums_kernel[(M, parts)](x, partial, K, parts, *x.stride(), PART=PART)
        sums_of_parts_kernel[(M,)](partial, sums, parts, BLOCK=triton.next_power_of_2(parts))
    return sums
