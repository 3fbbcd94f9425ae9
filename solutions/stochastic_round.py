"""Float32 to bfloat16 at random: up or down, with the odds of the place between the two neighbours.

bfloat16 is the upper half of a float32. Random bits are added to the lower half, which is then cut off: the sum carries
into the upper half with the odds lower / 65536, so that the mean result is x. Croci et al. 2022, arXiv:2104.08027.
"""

import torch


# %% stochastic_round
def stochastic_round(x: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
    """bfloat16, away from 0 where the lower 16 bits of x and ``bits`` carry, else towards 0. x: float32, any shape.
    bits: int32 of its shape, 0 to 65535.

    Beyond the largest bfloat16 the next number is infinity. Infinity and NaN are kept.
    Strides: any for x and bits.
    """
    rounded = (x.view(torch.int32) + bits) & -65536  # infinity, whose lower half is 0, stays what it is
    return torch.where(x.isnan(), x, rounded.view(torch.float32)).bfloat16()
