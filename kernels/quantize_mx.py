"""Blocks of 32 in float8 e4m3 with a power of two each (MXFP8), in Triton, without a logarithm or a division.

    e = the smallest integer >= -127 with max |x| <= 448 · 2^e     q = x / 2^e to the nearest even     x: (M, N)

Open Compute Project, "Microscaling formats (MX) specification", 1.0, 2023; the exponent is rounded up.
"""

import torch

from .language import tl, triton


# %% quantize_mx
@triton.jit
def quantize_mx_kernel(x_ptr, q_ptr, exponents_ptr, total, ROWS: tl.constexpr):
    """Program p does ROWS blocks of 32."""
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    offsets = (i * 32)[:, None] + tl.arange(0, 32)[None, :]
    mask = i < total

    x = tl.load(x_ptr + offsets, mask=mask[:, None], other=0.0).to(tl.float32)

    bits = tl.max(x.to(tl.int32, bitcast=True) & 0x7FFFFFFF, axis=1)  # of |x|; those of NaN are the largest
    biased = tl.maximum(((bits + 0x1FFFFF) >> 23) - 8, 0)  # one more where the fraction is above 1.75
    inverse = ((254 - biased) << 23).to(tl.float32, bitcast=True)  # 2^-e
    q = x * inverse[:, None]
    exponents = tl.where(bits > 0x7F800000, 255, biased)

    tl.store(q_ptr + offsets, q.to(tl.float8e4nv), mask=mask[:, None])
    tl.store(exponents_ptr + i, exponents.to(tl.uint8), mask=mask)


def quantize_mx(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(q, exponents): q like x, in float8_e4m3fn; exponents (M, N / 32), uint8: e + 127. x: (M, N), float32 or half.

    Bit for bit: e is the smallest from -127 on with the largest absolute value of a block of 32 at most 448 · 2^e, and
    q is x / 2^e to the nearest, ties to even, -0 for what rounds to 0 from below. A block with a NaN has 255, and q is
    NaN where x is; the rest of that block may hold anything. N is a multiple of 32. Strides: any for x.
    """
    x = x.contiguous()
    M, N = x.shape
    q = torch.empty(M, N, dtype=torch.float8_e4m3fn, device=x.device)
    exponents = torch.empty(M, N // 32, dtype=torch.uint8, device=x.device)
    total = exponents.numel()
    if total:
        quantize_mx_kernel[(triton.cdiv(total, 64),)](x, q, exponents, total, ROWS=64)
    return q, exponents
