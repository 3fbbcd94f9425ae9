"""RMS norm of a sum, with the sum: the step between two layers of a transformer, in one kernel."""

import torch
from torch import Generator, Tensor

from ..judge import Exercise, Floors, Output, Tolerance, case, draw
from ..runner import Args
from .cases.elementwise import normal
from .cases.rounding import floors
from .cases.rows import ORDINARY, offset, rowwise, weights
from .rms_norm import forward_floor, rms_norm


def add_and_norm(x: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """(y, total) of x and residual."""
    total = x + residual
    return rms_norm(total, weight, eps)[0], total


def beside(generator: Generator, x: Tensor) -> Tensor:
    """A residual whose rows are as large as those of x."""
    size = x.double().abs().mean(-1, keepdim=True)
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


def moved(x: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-6) -> int:
    """x and residual read, y and total written, and the weight read for each row."""
    return (4 * x.numel() + len(x) * weight.numel()) * x.element_size()


CASES = (
    case(
        "residual transposed",
        "Only the residual is transposed: x and it have strides of their own.",
        x=draw.normal(37, 53).scale(ORDINARY),
        residual=draw.normal(53, 37).scale(ORDINARY).map(torch.t),
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

REASON = (
    "The sum is rounded once. y has a rounding at the end, half an ulp, and up to an ulp more where the norm is taken "
    "of the sum as rounded, as two kernels would: 1.5, and 2 just below a power of two, where the ulp of the numbers "
    "above it is twice as large; and half of what the sum of squares lost, in any order √N + N / 32 ulp of float32."
)

add_rms_norm = Exercise(
    name="add_rms_norm",
    summary="total = x + residual, y = total / √(mean(total²) + eps) · weight for each row",
    oracle=add_and_norm,
    outputs=(Output("y"), Output("total")),
    cases=(*rowwise(arguments=arguments), *CASES),
    tolerance=Tolerance(3, 8, REASON, floor),
    hint="Load x and residual once, add them in float32, and keep the sum while you take the mean of its squares.",
    backends=("triton",),
    refused=frozenset({"rms_norm", "_fused_rms_norm"}),
    peer=in_pytorch,
    points=4,
    least_bytes=moved,
    traffic=1.05,
    about=("memory traffic", "variance far below eps"),
)
