"""Layer norm. Case: burn 0.3.0 to 0.13.2, tracel-ai/burn#2185."""

import math
from dataclasses import replace

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from ...kernels.wild import layer_norm as wild
from ..judge import Case, Exercise, Floors, Output, Tolerance, WildBug, Witness
from ..runner import Args
from .cases.elementwise import gradient, normal
from .cases.rounding import EPS, floors, leaning_walk, walk
from .cases.rows import LONG_EPS, SPILLED, backward, nan_in, offset, row_bytes, row_max, row_mean, rowwise, weights
from .cases.signature import MakeArguments

STATISTICS = (Output("mean", torch.float32), Output("rstd", torch.float32))


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> tuple[Tensor, Tensor, Tensor]:
    """(y, mean, rstd) in the dtype of x."""
    mean = row_mean(x)
    d = x - mean
    rstd = (row_mean(d * d) + eps) ** -0.5
    return d * rstd * weight + bias, mean.squeeze(-1), rstd.squeeze(-1)


def layer_norm_gradients(
    dy: Tensor, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(dx, dweight, dbias). The mean is taken again: the one that is saved is a rounded float32."""
    normal = (x - row_mean(x)) * rstd.unsqueeze(-1)
    g = dy * weight
    dx = rstd.unsqueeze(-1) * (g - row_mean(g) - normal * row_mean(g * normal))
    return dx, (dy * normal).sum(0), dy.sum(0)


def mean_error(x: Tensor, rstd: Tensor) -> Tensor:
    """Returns what honest float32 code may lose of x̂, in standard deviations: the rounding of a sum of x, in any
    order.
    """
    return (4 + walk(x.shape[-1])) * EPS * row_mean(x.abs()) * rstd.unsqueeze(-1)


def forward_floor(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5, *, corrected: bool = False) -> Floors:
    """Returns the floors of y, mean and rstd. corrected: for code that takes the mean's own error out again."""
    _, _, rstd = layer_norm(x, weight, bias, eps)
    normal = ((x - row_mean(x)) * rstd.unsqueeze(-1)).abs()
    lost = torch.zeros_like(rstd).unsqueeze(-1) if corrected else mean_error(x, rstd)
    squares = EPS * leaning_walk(x.shape[-1]) / 2  # of rstd, for the root of a sum is half as wrong as the sum
    y = (4 * EPS * row_max(normal) + lost + (lost + squares) * normal) * weight.abs() + 2 * EPS * bias.abs()
    mean = lost.squeeze(-1) / rstd
    return floors(y, mean, rstd * (lost.squeeze(-1) + squares))


def backward_floor(
    dy: Tensor, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor, *, corrected: bool = False
) -> Floors:
    """Returns the floors of dx, dweight and dbias. corrected: as `forward_floor` has it."""
    normal = ((x - row_mean(x)) * rstd.unsqueeze(-1)).abs()
    g = (dy * weight).abs()
    lost = torch.zeros_like(rstd).unsqueeze(-1) if corrected else mean_error(x, rstd)
    inner, outer = row_mean(g * normal), row_mean(g)
    dx = 4 * EPS * (row_max(g) + outer + row_max(normal) * inner) + lost * (inner + normal * outer + lost * outer)
    dweight = (dy.abs() * (8 * EPS * row_max(normal) + lost)).sum(0)
    return floors(rstd.unsqueeze(-1) * dx, dweight, 8 * EPS * dy.abs().sum(0))


def forward_arguments(generator: Generator, x: Tensor, *eps: float) -> Args:
    """Draws weight and bias for the rows x; returns (x, weight, bias, *eps)."""
    return x, weights(generator, x), normal(generator, x.shape[-1:], x.dtype), *eps


def backward_arguments(generator: Generator, x: Tensor, *eps: float) -> Args:
    """Draws dy, weight and what forward saves for the rows x; returns (dy, x, weight, mean, rstd)."""
    zero = torch.zeros((), dtype=torch.float64)
    _, mean, rstd = layer_norm(x.double(), zero, zero, *eps)
    return gradient(generator, x.shape, x.dtype), x, weights(generator, x), mean.float(), rstd.float()


def far_from_zero(arguments: MakeArguments) -> Case:
    """The distinction: a mean of 1e5 standard deviations."""
    hint = "Subtract the mean, and look at the mean of what is left. In float32 it is not 0."
    rows = [(1e5, 1.0), (-1e4, 0.1), (3e4, 0.3)]
    return Case("distinction: mean 1e5 sigma", lambda g: arguments(g, offset(g, rows, 1000)), hint, bonus=True)


def torch_forward(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> tuple[Tensor, Tensor, Tensor]:
    """Returns PyTorch's own (y, mean, rstd)."""
    _, mean, rstd = torch.native_layer_norm(x.float(), weight.shape, weight.float(), bias.float(), eps)
    return F.layer_norm(x, weight.shape, weight, bias, eps), mean.squeeze(-1), rstd.squeeze(-1)


def torch_backward(dy: Tensor, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor) -> Args:
    """PyTorch's gradients in float32, rounded at the end: on the CPU it sums dweight in half precision otherwise."""
    dy, v, w = (t.float().contiguous() for t in (dy, x, weight))
    results = torch.ops.aten.native_layer_norm_backward(dy, v, w.shape, mean[:, None], rstd[:, None], w, w, [True] * 3)
    return tuple(r.to(like.dtype) for r, like in zip(results, (x, weight, weight), strict=True))


REASON = (
    "One rounding at the end costs half an ulp. A float32 sum over a row leaves a few ulp of its largest element, 4 in "
    "units of max |x̂|, and a sum of x, in any order, 4 + √N ulp of mean |x|: nearly all of the error where the mean is "
    "far from 0. A sum of squares, in any order, leaves √N + N / 32 ulp of itself, of which rstd has half."
)
EPSILON_OUTSIDE = WildBug(
    who="burn 0.3.0-0.13.2",
    thread="tracel-ai/burn#2185",
    function=wild.layer_norm_forward_epsilon_outside,
    seen_by="variance far below eps",
    story=(
        "It added eps to the standard deviation instead of the variance. A row of variance 0 is amplified 100,000 "
        "times instead of 316 times. GroupNorm kept the expression until 0.17."
    ),
)
UNBIASED = WildBug(
    who="The Annotated Transformer",
    thread="harvardnlp/annotated-transformer#122",
    function=wild.layer_norm_forward_unbiased,
    seen_by="3 columns",
    story="x.std() divides by N - 1, not by N, and eps stands outside the root. One column gives NaN.",
)
PADDING = WildBug(
    who="Liger-Kernel before 0.5.4",
    thread="linkedin/Liger-Kernel#518",
    function=wild.layer_norm_forward_padding,
    seen_by="17 columns",
    story=(
        "The lanes of the block beyond the row hold 0. Minus the mean, squared, they are in the variance. With N a "
        "power of two there are none; every test had one."
    ),
)
ONE_PASS = WildBug(
    who="burn-flex",
    thread="tracel-ai/burn#5607",
    function=wild.layer_norm_forward_one_pass,
    seen_by="large mean",
    story="mean(x²) - mean(x)² subtracts two large, nearly equal numbers; what is left is their rounding.",
)
EPSILON_OUTSIDE_GRADIENT = WildBug(
    who="burn 0.3.0-0.13.2",
    thread="tracel-ai/burn#1992",
    function=wild.layer_norm_backward_epsilon_outside,
    seen_by="constant rows",
    story="With eps outside the root, the gradient goes through d√var, which is 0 / 0 on a constant row.",
)

layer_norm_forward = Exercise(
    name="layer_norm_forward",
    summary="y = (x - mean) · rstd · weight + bias for each row, rstd = 1 / √(var + eps)",
    oracle=layer_norm,
    outputs=(Output("y"), *STATISTICS),
    cases=(
        *rowwise(arguments=forward_arguments),
        *nan_in("weight", "bias", of=("x", "weight", "bias"), arguments=forward_arguments),
        far_from_zero(forward_arguments),
    ),
    tolerance=Tolerance(1, 8, REASON, forward_floor, lambda *args: forward_floor(*args, corrected=True)),
    hint="Mean, variance and normalisation of each row, in float32.",
    refused=frozenset({"layer_norm", "native_layer_norm", "native_group_norm", "native_batch_norm", "batch_norm"}),
    peer=torch_forward,
    wild=(EPSILON_OUTSIDE, UNBIASED, PADDING, ONE_PASS),
    points=4,
    least_bytes=lambda x, weight, bias, eps=1e-5: row_bytes(x, weight, bias, statistics=2),
    traffic=1.05,
    spills=SPILLED,
    about=("constant rows", "1 column", "variance far below eps", "eps = 0.1", LONG_EPS),
)

layer_norm_backward = Exercise(
    name="layer_norm_backward",
    summary="dx = rstd · (g - mean(g) - x̂ · mean(g · x̂)), g = dy · weight; dweight = Σ dy · x̂, dbias = Σ dy",
    oracle=layer_norm_gradients,
    outputs=(Output("dx"), Output("dweight", "weight"), Output("dbias", "weight")),
    cases=(
        *rowwise(arguments=backward_arguments),
        *backward(arguments=backward_arguments),
        *nan_in("dy", "weight", of=("dy", "x", "weight"), arguments=backward_arguments),
        far_from_zero(backward_arguments),
    ),
    tolerance=Tolerance(1, 8, REASON, backward_floor, lambda *args: backward_floor(*args, corrected=True)),
    hint="Everything follows from x̂ = (x - mean) · rstd and g = dy · weight; the sums over rows are a second step.",
    refused=frozenset({"layer_norm", "native_layer_norm", "native_layer_norm_backward", "autograd"}),
    allowed=frozenset({"sum"}),
    peer=torch_backward,
    wild=(EPSILON_OUTSIDE_GRADIENT,),
    points=6,
    forward=layer_norm_forward,
    spills=SPILLED,
    about=("constant rows", "1 column", "variance far below eps", "eps = 0.1", LONG_EPS),
)


def _no_witness(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> str:
    """Returns why layer norm does not accept these arguments; "" if it does."""
    if x.dim() != 2 or weight.shape != x.shape[1:] or bias.shape != x.shape[1:]:
        return "x is a matrix (M, N), weight and bias are (N,)."
    if len({x.dtype, weight.dtype, bias.dtype}) > 1:
        return "x, weight and bias need one dtype."
    return "" if 0 < eps < math.inf else "eps is positive and finite."


def visible_floor(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Floors:
    """1 % of the row's largest element, and what honest float32 code may lose: of a constant row y is 0."""
    y, mean, rstd = forward_floor(x, weight, bias, eps)
    return y + visible(x, weight, bias, eps), mean, rstd


def visible(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """1 % of the row's largest element."""
    return 0.01 * row_max(layer_norm(x, weight, bias, eps)[0])


VISIBLE = Tolerance(
    half=8,
    single=2.0**17,
    reason="A witness should convict at a glance: more than 1 % of the largest element of the row.",
    floor=visible_floor,
)

layer_norm_witness = Witness(
    name="layer_norm_witness",
    summary="(x, weight, bias) or (x, weight, bias, eps) on which burn's epsilon is off by more than 1 %",
    exercise=replace(layer_norm_forward, tolerance=VISIBLE),
    bug=EPSILON_OUTSIDE,
    asked="1 % of the largest element of the row",
    apart=visible,
    hint="√var + eps and √(var + eps) are close where var is much larger than eps. Choose a row in which it is not.",
    complaint=_no_witness,
    points=2,
)
