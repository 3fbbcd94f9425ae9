"""Two pieces of attention over different keys made into one, in Triton.

    lse = log(e^lse_a + e^lse_b)
    o   = (o_a · e^(lse_a - top) + o_b · e^(lse_b - top)) / (e^(lse_a - top) + e^(lse_b - top)), top = max(lse_a, lse_b)

o_a, o_b, o: (B, H, M, D)   lse_a, lse_b, lse: (B, H, M) float32, natural logarithms, -inf where a piece has no key.
Float32 inside, rounded once at the store. The pieces of a split over the keys: Dao et al. 2023, flash-decoding.
"""

import torch

from .language import tl, triton


# %% merge_attention
@triton.jit
def log1p(x):
    """log(1 + x) for 0 <= x <= 1 with all its digits, also where 1 + x is 1 in float32."""
    u = 1.0 + x
    return tl.where(u == 1.0, x, tl.log(u) * (x / tl.where(u == 1.0, 1.0, u - 1.0)))  # u's rounding cancels


@triton.jit
def merge_attention_kernel(
    o_a_ptr, lse_a_ptr, o_b_ptr, lse_b_ptr, o_ptr, lse_ptr, rows, D, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr
):
    """Program i does block i of the queries of all heads."""
    row = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_D)
    a = tl.load(lse_a_ptr + row, mask=row < rows, other=0.0)
    b = tl.load(lse_b_ptr + row, mask=row < rows, other=0.0)
    top = tl.maximum(a, b)
    empty = top == float("-inf")
    lse = tl.where(empty, top, top + log1p(tl.exp(-tl.abs(a - b))))  # of two empty pieces a - b is NaN
    shift = tl.where(empty, 0.0, top)  # lse is rounded: of e^(a - lse) it would spoil as many digits as lse has
    weight_a, weight_b = tl.exp(a - shift), tl.exp(b - shift)
    total = tl.where(empty, 1.0, weight_a + weight_b)

    at, mask = row[:, None] * D + cols[None, :], (row < rows)[:, None] & (cols < D)[None, :]
    o_a = tl.load(o_a_ptr + at, mask=mask, other=0.0).to(tl.float32)
    o_b = tl.load(o_b_ptr + at, mask=mask, other=0.0).to(tl.float32)
    o = (o_a * weight_a[:, None] + o_b * weight_b[:, None]) / total[:, None]
    tl.store(o_ptr + at, o.to(o_ptr.dtype.element_ty), mask=mask)
    tl.store(lse_ptr + row, lse, mask=row < rows)


def merge_attention(
    o_a: torch.Tensor, lse_a: torch.Tensor, o_b: torch.Tensor, lse_b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """(o, lse): attention over the keys of both pieces. o is like o_a."""
    o_a, lse_a, o_b, lse_b = o_a.contiguous(), lse_a.contiguous(), o_b.contiguous(), lse_b.contiguous()
    o, lse = torch.empty_like(o_a), torch.empty_like(lse_a)
    if lse.numel():
        block_d = max(triton.next_power_of_2(o.shape[-1]), 1)
        block_m = max(2048 // block_d, 1)
        merge_attention_kernel[(triton.cdiv(lse.numel(), block_m),)](
            o_a, lse_a, o_b, lse_b, o, lse, lse.numel(), o.shape[-1], BLOCK_M=block_m, BLOCK_D=block_d
        )
    return o, lse
