"""SiLU as a `torch.autograd.Function`, whose backward the check calls through autograd."""

import torch
from torch import Tensor

from ...kernels.wild import silu_function as wild
from ..judge import HALVES, CommonMistake, Exercise, Floors, Output, Tolerance, Values, case, draw
from .cases.wording import AGAIN, KEEP_NOTHING, STEP_BY_STEP
from .silu import silu, silu_floor, silu_slope, slope_floor


def with_gradient(x: Tensor) -> tuple[Tensor, Tensor]:
    """(silu, its gradient for `Exercise.upstream_of`)."""
    return silu(x), Exercise.upstream_of(x, x.shape) * silu_slope(x.detach())


def floor(x: Tensor) -> Floors:
    """Those of silu_forward and of silu_backward."""
    return *silu_floor(x), *slope_floor(Exercise.upstream_of(x, x.shape).to(x.dtype), x)


def numbers(*sizes: int) -> Values:
    """Numbers of about 3."""
    return draw.normal(*sizes).scale(3.0)


ABOVE = (
    "The gradient is wrong and the result is not: what does backward multiply by, and at which tensor does it take the "
    "slope? "
)

WITHOUT = CommonMistake(
    who="a backward that leaves out what arrives from above,",
    function=wild.without_upstream,
    seen_by="ordinary values",
    story="backward returns dy times the slope. Where the loss is the sum of the results, dy is 1 and nobody notices.",
)
RESULT = CommonMistake(
    who="y saved in place of x",
    function=wild.slope_at_the_result,
    seen_by="ordinary values",
    story="The slope at y is the slope at x only where the two are close.",
)

silu_function = Exercise(
    name="silu_function",
    summary="y = silu_forward(x), attached to the graph by a torch.autograd.Function whose backward is silu_backward",
    oracle=with_gradient,
    outputs=(Output("y"), Output("dx")),
    cases=(
        case(
            "ordinary values",
            "Begin here: 300 numbers. What arrives from above is a number for each of them. " + ABOVE,
            x=numbers(300),
        ),
        case(AGAIN, KEEP_NOTHING, x=numbers(300)),
        case("zeros", ABOVE + "At 0 the slope is 1/2.", x=draw.tensor([0.0, -0.0, 0.5, 0.0, -2.0])),
        case("values up to 100", STEP_BY_STEP, x=draw.tensor([-100.0, -50.0, -1.2785, 30.0, 88.0, 100.0])),
        *(
            case(f"{dtype}".removeprefix("torch."), "The gradient has the dtype of x.", x=numbers(300).to(dtype))
            for dtype in reversed(HALVES)
        ),
        case("one element", "One element.", x=numbers(1)),
        case("no dimensions", "x.shape may be ().", x=numbers()),
        case("no elements", "An empty tensor goes in, an empty tensor comes out, attached to the graph.", x=numbers(0)),
        case("transposed", "A transposed matrix: any strides will do.", x=numbers(37, 53).transposed()),
        case("every second column", "The stride of the last dimension is 2.", x=numbers(9, 21).every_second()),
        case(
            "NaN in one element",
            "One NaN: its own result and gradient are NaN, and no other.",
            x=numbers(40).put(torch.nan, 7),
        ),
    ),
    tolerance=Tolerance(1, 8, "Those of silu_forward and silu_backward.", floor),
    hint="Return the result of `apply`; the check takes its gradient. PyTorch differentiates nothing inside of it.",
    backends=("torch",),
    refused=frozenset({"silu", "silu_backward", "autograd"}),
    wild=(WITHOUT, RESULT),
    points=2,
    gradient_of="x",
    about=("zeros", "values up to 100"),
)
