"""RMS norm whose weight is stored as its distance from 1. Case: transformers#29402, 1 + weight in bfloat16."""

import torch
from torch import Generator, Tensor

from ...kernels.wild import gemma_norm as wild
from ..judge import CommonMistake, Exercise, Floors, Output, Tolerance, WildBug, case, draw
from ..runner import Args
from .cases.elementwise import normal
from .cases.rounding import EPS, floors
from .cases.rows import SPILLED, nan_in, row_bytes, rowwise
from .rms_norm import forward_floor, rms_norm


def gemma_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    """x · rstd · (1 + weight)."""
    return rms_norm(x, 1 + weight, eps)[0]


def floor(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Floors:
    """Returns what a sum of squares loses, in any order; and x · rstd may be multiplied by weight before 1 is added."""
    (squares, _), (row, _) = forward_floor(x, 1 + weight, eps), rms_norm(x, weight, eps)
    return floors(squares + 2 * EPS * row.abs())


def arguments(generator: Generator, x: Tensor, *eps: float) -> Args:
    """A weight near 0 for each column: what training has moved it by."""
    return x, normal(generator, x.shape[-1:], x.dtype, scale=0.3), *eps


ROUNDED = WildBug(
    who="transformers 4.38.0 to 4.38.2",
    thread="huggingface/transformers#29402",
    function=wild.gemma_norm_rounded_sum,
    seen_by="small weights in bfloat16",
    story="1 + weight was added in the weight's dtype: in bfloat16 1 + 2^-8 is 1, and what was learned is gone.",
)
WITHOUT = CommonMistake(
    who="weight in place of 1 + weight",
    function=wild.gemma_norm_without_one,
    seen_by="ordinary values",
    story="A weight of 0 means a factor of 1 here.",
)

REASON = (
    "One rounding at the end costs half an ulp; a few ulp of float32 inside, and half of what the sum of squares lost, "
    "which in any order is √N + N / 32 ulp."
)

gemma_norm_record = Exercise(
    name="gemma_norm",
    summary="y = x · rstd · (1 + weight) for each row, rstd = 1 / √(mean(x²) + eps)",
    oracle=gemma_norm,
    outputs=(Output("y"),),
    cases=(
        *rowwise(arguments=arguments),
        *nan_in("weight", of=("x", "weight"), arguments=arguments),
        case(
            "small weights in bfloat16",
            "x is float32 and weight is bfloat16, up to 2^-8. Next to 1 bfloat16 has steps of 2^-7: in which dtype do "
            "you add?",
            x=draw.normal(6, 200),
            weight=draw.normal(200).scale(2.0**-9).clamp(-(2.0**-8), 2.0**-8).to(torch.bfloat16),
        ),
        case(
            "weights of 16 in bfloat16",
            "x is float32 and weight is bfloat16, about 16, where its steps are 1/16 and 1/8: is 1 + weight rounded to "
            "them?",
            x=draw.normal(6, 200),
            weight=draw.normal(200).scale(4.0).plus(15.8125).to(torch.bfloat16),
        ),
    ),
    tolerance=Tolerance(1, 8, REASON, floor),
    hint="RMS norm of chapter 03, and one sum: in float32.",
    refused=frozenset({"rms_norm", "_fused_rms_norm"}),
    wild=(ROUNDED, WITHOUT),
    points=2,
    least_bytes=lambda x, weight, eps=1e-6: row_bytes(x, weight, statistics=0),
    traffic=1.05,
    spills=SPILLED,
    about=("small weights in bfloat16", "weights of 16 in bfloat16"),
)
