"""Parts of a scan over a sequence. Cases: vllm-gaudi#1009, mamba#713, flash-linear-attention#1095."""

import math
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from ...kernels.wild import scan as wild
from .cases.suspect import first, suspect

CHUNK = 16


def chunk_steps(dt: Tensor, bias: float = -4.0) -> Tensor:
    """The sum of softplus(dt + bias) over each chunk of 16 of dt (T,), float32; the last chunk may have fewer."""
    steps = F.softplus(dt + bias, threshold=700)
    return torch.stack([part.sum() for part in steps.split(CHUNK)])


def decay_to_end(a: Tensor) -> Tensor:
    """e^(the sum of all a behind t), for each t, (T,) float32: what is left at the end of what came in at t. a: (T,),
    none above 0.
    """
    return torch.exp(reverse_cumsum(a) - a)


def reverse_cumsum(x: Tensor) -> Tensor:
    """The sum of x from t to the end, for each t; x is (T,), the result in its dtype."""
    return x.flip(0).cumsum(0).flip(0)


def _vector(x: Tensor, name: str, most: float) -> str:
    return first(
        (x.dim() == 1 and x.numel() > 0, f"{name} is a vector (T,)."),
        (bool((x.abs().double() <= most).all()), f"Numbers lie between {-most:,.0f} and {most:,.0f}."),
    )


def _no_steps(dt: Tensor, bias: float = -4.0) -> str:
    return _vector(dt, "dt", 1e4) or first(
        (math.isfinite(bias) and abs(bias) <= 1e4, "bias is finite, and at most 10,000.")
    )


def _no_decay(a: Tensor) -> str:
    return _vector(a, "a", 1e12) or first((bool((a <= 0).all()), "A decay that grows: no element of a is above 0."))


def _no_sums(x: Tensor) -> str:
    fits = float(x.double().abs().sum()) < torch.finfo(x.dtype).max
    return _vector(x, "x", 1e12) or first((fits, f"The sum is larger than {x.dtype} can hold."))


SUSPECTS = (
    suspect(
        chunk_steps,
        torch.float32,
        wild.chunk_steps_of_padding,
        thread="vllm-project/vllm-gaudi#1009",
        story="vllm-gaudi 0.15.1 and 0.16.0 padded the steps with zeros, and then added a bias and took the softplus: "
        "padding is a step.",
        apart=lambda dt, bias=-4.0: 0.2 * chunk_steps(dt, bias),
        asked="a fifth of the right step",
        complaint=_no_steps,
        hint="Count the elements of the last chunk. What is in the lanes that are left?",
    ),
    suspect(
        decay_to_end,
        torch.float32,
        wild.decay_to_end_above_one,
        thread="state-spaces/mamba#713",
        story="Mamba 2.0.0 to 2.2.4 took e to the difference of two rounded sums, which was above 0 at times, and not "
        "by little.",
        apart=lambda a: 0.2,
        asked="0.2",
        complaint=_no_decay,
        hint="Nothing right is above 1. Two rounded sums are subtracted: how coarse are they behind a large number?",
    ),
    suspect(
        reverse_cumsum,
        "x",
        wild.reverse_cumsum_of_the_total,
        thread="fla-org/flash-linear-attention#1095",
        story="flash-linear-attention 0.1.0 to 0.5.2 took the sum up to t away from the total. Of a small end nothing "
        "is left behind a large beginning.",
        apart=lambda x: 0.1 * reverse_cumsum(x.abs()),
        asked="a tenth of the sum of |x|",
        complaint=_no_sums,
        hint="There are two ways to sum from t to the end. One of them is a difference: of which numbers?",
    ),
)

scan_witness = replace(
    SUSPECTS[0],
    name="scan_witness",
    summary="for each of chunk_steps, decay_to_end and reverse_cumsum arguments that show the planted bug",
    others=SUSPECTS[1:],
)
