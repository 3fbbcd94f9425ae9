"""RMS norm. Case: nn.RMSNorm in PyTorch 2.4, pytorch/pytorch#133085."""

import torch
from torch import Generator, Tensor

from ...kernels.wild import rms_norm as wild
from ..judge import Case, Exercise, Floors, Output, Tolerance, WildBug
from ..runner import Args
from .cases.borrowed import fused_rms_norm
from .cases.elementwise import gradient, normal
from .cases.rounding import EPS, floors, leaning_walk, walk
from .cases.rows import LONG_EPS, SPILLED, backward, nan_in, row_bytes, row_mean, rowwise, weights
from .cases.signature import MakeArguments


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """(y, rstd) in the dtype of x."""
    rstd = (row_mean(x * x) + eps) ** -0.5
    return x * rstd * weight, rstd.squeeze(-1)


def rms_norm_gradients(dy: Tensor, x: Tensor, weight: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor]:
    """(dx, dweight)."""
    normal = x * rstd.unsqueeze(-1)
    g = dy * weight
    return rstd.unsqueeze(-1) * (g - normal * row_mean(g * normal)), (dy * normal).sum(0)


def forward_floor(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Floors:
    """Returns the floors of y and rstd: what a sum of squares loses, in order."""
    y, rstd = rms_norm(x, weight, eps)
    squares = EPS * leaning_walk(x.shape[-1]) / 2  # of rstd, for the root of a sum is half as wrong as the sum
    return floors(squares * y.abs(), squares * rstd)


def backward_floor(dy: Tensor, x: Tensor, weight: Tensor, rstd: Tensor) -> Floors:
    """Returns the floors of dx and dweight."""
    normal = (x * rstd.unsqueeze(-1)).abs()
    g = (dy * weight).abs()
    inner = (4 + walk(x.shape[-1])) * row_mean(g * normal)
    dx = EPS * rstd.unsqueeze(-1) * (4 * g + normal * inner)
    return floors(dx, 8 * EPS * (dy.abs() * normal).sum(0))


def forward_arguments(generator: Generator, x: Tensor, *eps: float) -> Args:
    """Draws a weight for the rows x; returns (x, weight, *eps)."""
    return x, weights(generator, x), *eps


def backward_arguments(generator: Generator, x: Tensor, *eps: float) -> Args:
    """Draws dy, a weight and what forward saves for the rows x; returns (dy, x, weight, rstd)."""
    _, rstd = rms_norm(x.double(), torch.zeros((), dtype=torch.float64), *eps)
    return gradient(generator, x.shape, x.dtype), x, weights(generator, x), rstd.float()


def large(arguments: MakeArguments) -> Case:
    """The distinction: rows from 1e16 to 1e30, and one of ordinary size between them."""
    hint = "The square of 1.9e19 is infinite in float32. Does rstd have to be 0, is there no other way to it?"
    scales = torch.tensor([[1e16], [3e20], [2.0], [1e25], [1e30]])
    return Case(
        "distinction: squares beyond float32",
        lambda g: arguments(g, normal(g, (5, 300)) * scales),
        hint,
        bonus=True,
    )


REASON = (
    "One rounding at the end costs half an ulp. Nothing cancels in the forward pass: a few ulp of float32, and half of "
    "what the sum of squares lost, which in any order is √N + N / 32 ulp. Backward, the two terms of dx and the terms "
    "of dweight may cancel: a few ulp of the largest of them remain, and √N ulp of a mean in any order."
)


def torch_forward(x: Tensor, weight: Tensor, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Returns PyTorch's y, and rstd by its formula."""
    y, rstd = fused_rms_norm(x, weight.shape, weight, eps)
    return y, rstd.squeeze(-1)


HALF_SQUARES = WildBug(
    who="PyTorch 2.4",
    thread="pytorch/pytorch#133085",
    function=wild.rms_norm_forward_half_squares,
    seen_by="float16 values of 300",
    story="It squared in the dtype of x. In float16 the square of 256 is infinite, rstd is 0 and the whole row is 0.",
)
RESCALED = WildBug(
    who="coremltools",
    thread="apple/coremltools#2821",
    function=wild.rms_norm_forward_rescaled,
    seen_by="one outlier",
    story="It divides the row by its largest element m, but not eps, which counts m² times. A row of zeros is NaN.",
)

rms_norm_forward = Exercise(
    name="rms_norm_forward",
    summary="y = x · rstd · weight for each row, rstd = 1 / √(mean(x²) + eps)",
    oracle=rms_norm,
    outputs=(Output("y"), Output("rstd", torch.float32)),
    cases=(
        *rowwise(arguments=forward_arguments),
        *nan_in("weight", of=("x", "weight"), arguments=forward_arguments),
        large(forward_arguments),
    ),
    tolerance=Tolerance(1, 8, REASON, forward_floor, forward_floor),
    hint="The mean of the squares of each row, in float32.",
    refused=frozenset({"rms_norm", "_fused_rms_norm"}),
    peer=torch_forward,
    wild=(HALF_SQUARES, RESCALED),
    points=3,
    least_bytes=lambda x, weight, eps=1e-6: row_bytes(x, weight, statistics=1),
    traffic=1.05,
    spills=SPILLED,
    about=("variance far below eps", "eps = 0.1", LONG_EPS, "float16 values of 300"),
)

rms_norm_backward = Exercise(
    name="rms_norm_backward",
    summary="dx = rstd · (g - x̂ · mean(g · x̂)), g = dy · weight, x̂ = x · rstd; dweight = Σ dy · x̂ over rows",
    oracle=rms_norm_gradients,
    outputs=(Output("dx"), Output("dweight", "weight")),
    cases=(
        *rowwise(arguments=backward_arguments),
        *backward(arguments=backward_arguments),
        *nan_in("dy", "weight", of=("dy", "x", "weight"), arguments=backward_arguments),
        large(backward_arguments),
    ),
    tolerance=Tolerance(1, 8, REASON, backward_floor, backward_floor),
    hint="Layer norm's gradient without the terms that came from the mean.",
    refused=frozenset({"rms_norm", "_fused_rms_norm", "_fused_rms_norm_backward", "autograd"}),
    allowed=frozenset({"sum"}),
    points=4,
    forward=rms_norm_forward,
    spills=SPILLED,
    about=("variance far below eps", "float16 values of 300"),
)
