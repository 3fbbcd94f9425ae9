"""RMS norm of a sum, with the sum: the step between two layers of a transformer, in one kernel."""

import torch
from torch import Generator, Tensor

from ..judge import Exercise, Floors, Output, Tolerance, case, draw
from ..runner import Args
from .cases.elementwise import normal
from .cases.rounding import floors
from .cases.rows import ORDINARY, SPILLED, nan_in, offset, rowwise, weights
from .rms_norm import forward_floor, rms_norm


def add_and_norm(x: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """(y, total) of x and residual."""
    total = x + residual
    return rms_norm(total, weight, eps)[0], total


def beside(generator: Generator, x: Tensor) -> Tensor:
    """A residual whose rows are as large as those of x; finite where x is not."""
    size = x.double().abs().nanmean(-1, keepdim=True)
    return (normal(generator, x.shape).double() * size).to(x.dtype)


def arguments(generator: Generator, x: Tensor, *eps: float) -> Args:
    """Draws a residual and a weight for the rows x; returns (x, residual, weight, *eps)."""
    return x, beside(generator, x), weights(generator, x), *eps


def floor(x: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-6) -> Floors:
    """Returns the floors of y and total: what a sum of squares loses, and nothing."""
    return floors(forward_floor(x + residual, weight, eps)[0], 0.0)


def in_pytorch(x: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """PyTorch's RMS norm in float32, of the sum as it is rounded."""
    total = x + residual
    y = torch.nn.functional.rms_norm(total.float(), weight.shape, weight.float(), eps)
    return y.to(x.dtype), total


def of_rounded_sum(x: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """(y, total) where the norm is that of the sum as it is rounded."""
    total = x + residual
    return rms_norm(total.double(), weight.double(), eps)[0], total


def moved(x: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-6) -> int:
    """x and residual read, y and total written, and the weight read for each row."""
    return (4 * x.numel() + len(x) * weight.numel()) * x.element_size()


CASES = (
    case(
        "many rows, bfloat16",
        "64 rows of 512 in bfloat16: the sum, its norm and the product with the weight stay in float32, and y is "
        "rounded once, when it is stored.",
        x=draw.normal(64, 512).scale(ORDINARY).to(torch.bfloat16),
        residual=draw.by(beside),
        weight=draw.by(weights),
    ),
    case(
        "residual transposed",
        "Only the residual is transposed: x and it have strides of their own.",
        x=draw.normal(37, 53).scale(ORDINARY),
        residual=draw.normal(53, 37).scale(ORDINARY).map(torch.t),
        weight=draw.by(weights),
    ),
    case(
        "5 rows of 16,384",
        "The longest rows that are to be read once: with how many warps does a thread hold its share of one?",
        x=draw.normal(5, 16_384).scale(ORDINARY),
        residual=draw.by(beside),
        weight=draw.by(weights),
    ),
    case(
        "20,011 columns, mean square below eps",
        "A row longer than a block whose squares are below eps: is it added once, to the mean over the whole row?",
        x=draw.by(lambda generator: offset(generator, [(0.0, 1e-3)], 20_011)),
        residual=draw.by(beside),
        weight=draw.by(weights),
    ),
)

OF = ("x", "residual", "weight")
REASON = (
    "The sum is rounded once, and y at the end, each by half an ulp. The norm may be that of the sum before it is "
    "rounded, or after, as two kernels take it: an ulp from either. And half of what the sum of squares lost, in any "
    "order √N + N / 32 ulp of float32."
)

add_rms_norm = Exercise(
    name="add_rms_norm",
    summary="total = x + residual, y = total / √(mean(total²) + eps) · weight for each row",
    oracle=add_and_norm,
    outputs=(Output("y"), Output("total")),
    cases=(*rowwise(arguments=arguments), *nan_in("residual", "weight", of=OF, arguments=arguments), *CASES),
    tolerance=Tolerance(1, 8, REASON, floor),
    hint="Load x and residual once, add them in float32, and keep the sum while you take the mean of its squares.",
    backends=("triton",),
    refused=frozenset({"rms_norm", "_fused_rms_norm"}),
    peer=in_pytorch,
    either=of_rounded_sum,
    points=4,
    least_bytes=moved,
    traffic=1.05,
    spills=SPILLED,
    about=("memory traffic", "register spills", "variance far below eps"),
)
