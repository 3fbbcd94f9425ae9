"""Float32 to bfloat16 at random in Triton: up or down, with the odds of the place between the two neighbours.

bfloat16 is the upper half of a float32. Random bits are added to the lower half, which is then cut off: the sum carries
into the upper half with the odds lower / 65536, so that the mean result is x. Croci et al. 2022, arXiv:2104.08027.
"""

import torch

from .language import tl, triton


# %% stochastic_round
@triton.jit
def stochastic_round_kernel(x_ptr, bits_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Program p does elements p · BLOCK to (p + 1) · BLOCK."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n

    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    bits = tl.load(bits_ptr + offsets, mask=mask, other=0)

    rounded = ((x.to(tl.int32, bitcast=True) + bits) & -65536).to(tl.float32, bitcast=True)
    y = tl.where(x == x, rounded, x)  # NaN is not itself; infinity, whose lower half is 0, is not changed

    tl.store(y_ptr + offsets, y.to(tl.bfloat16), mask=mask)


def stochastic_round(x: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
    """bfloat16, away from 0 where the lower 16 bits of x and ``bits`` carry, else towards 0. x: float32, any shape.
    bits: int32 of its shape, 0 to 65535.

    Beyond the largest bfloat16 the next number is infinity. Infinity and NaN are kept.
    Strides: any for x and bits.
    """
    x, bits = x.contiguous(), bits.contiguous()
    y = torch.empty(x.shape, dtype=torch.bfloat16, device=x.device)
    if x.numel():
        stochastic_round_kernel[(triton.cdiv(x.numel(), 1024),)](x, bits, y, x.numel(), BLOCK=1024)
    return y
