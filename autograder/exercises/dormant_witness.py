"""An input to find: a block on which 448 / amax is infinite. Case: flashinfer PR#5024."""

import torch
from torch import Tensor

from ..judge import Witness
from .cases.suspect import first
from .quantize_blocks import INVERSE, quantize_blocks


def no_blocks(x: Tensor, block: int = 128) -> str:
    """Returns what is wrong with an input: also zeros, of which every guard knows."""
    size = x.double().abs()
    shaped = x.dim() == 2 and x.numel() > 0
    largest = torch.stack([part.amax() for part in size.split(128, -1)]) if shaped else torch.ones(1)
    return first(
        (shaped, "x has to be a matrix (M, N) with elements."),
        (block == 128, "Blocks have to have 128 elements."),
        (
            not shaped or all(bool((part.amax(1) >= 1e-38).all()) for part in size.split(128, 1)),
            "The largest absolute value of each block has to be 1e-38 or more.",
        ),
        (bool((largest <= 1e30).all()), "Numbers have to lie between -1e30 and 1e30."),
    )


dormant_witness = Witness(
    name="dormant_witness",
    summary="(x,), finite, no block of 128 all zero, on which quantisation by 448 / amax is wrong",
    exercise=quantize_blocks,
    bug=INVERSE,
    hint="The largest float32 is 3.4e38. For which amax is 448 / amax above it? An infinite q is clamped to 448, which "
    "is right for the largest number of a block: give the block smaller ones, too.",
    asked="rounding to the nearest",
    complaint=no_blocks,
    floats=(torch.float32,),
    most=65536,
)
