"""Blocks of 32 in float8 e4m3 with a power of two each (MXFP8), in PyTorch.

    e = the smallest integer >= -127 with max |x| <= 448 · 2^e     q = x / 2^e to the nearest even     x: (M, N)

Open Compute Project, "Microscaling formats (MX) specification", 1.0, 2023; the exponent is rounded up.
"""

import torch


# %% quantize_mx
def quantize_mx(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(q, exponents): q like x, in float8_e4m3fn; exponents (M, N / 32), uint8: e + 127. x: (M, N), float32 or half.

    Bit for bit: e is the smallest from -127 on with the largest absolute value of a block of 32 at most 448 · 2^e, and
    q is x / 2^e to the nearest, ties to even, -0 for what rounds to 0 from below. A block with a NaN has 255, and q is
    NaN where x is; the rest of that block may hold anything. N is a multiple of 32. Strides: any for x.
    """
    v = x.float().unflatten(1, (-1, 32))
    amax = v.abs().amax(-1)
    fraction, power = torch.frexp(amax)  # amax = fraction · 2^power, and 448 = 0.875 · 2^9
    e = torch.where(amax == 0, -127, power - 9 + (fraction > 0.875)).clamp(min=-127)
    e = torch.where(amax.isnan(), 0, e)
    q = torch.ldexp(v, -e[..., None])  # exact
    exponents = torch.where(amax.isnan(), 255, e + 127).to(torch.uint8)
    return q.to(torch.float8_e4m3fn).flatten(1), exponents
