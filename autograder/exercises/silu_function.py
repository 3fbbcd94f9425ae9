"""SiLU as a `torch.autograd.Function`, whose backward the check calls through autograd."""

import torch
from torch import Generator, Tensor

from ...kernels.wild import silu_function as wild
from ..judge import (
    AGAIN,
    HALVES,
    KEEP_NOTHING,
    STEP_BY_STEP,
    Case,
    CommonMistake,
    Exercise,
    Floors,
    Inputs,
    Output,
    Tolerance,
    View,
    as_it_is,
    every_second,
    normal,
    transposed,
)
from ..runner import UPSTREAM, Args
from .silu import silu, silu_floor, silu_slope, slope_floor


def with_gradient(x: Tensor) -> tuple[Tensor, Tensor]:
    """(silu, its gradient for `UPSTREAM`)."""
    return silu(x), UPSTREAM * silu_slope(x.detach())


def floor(x: Tensor) -> Floors:
    """Those of silu_forward and of silu_backward."""
    return *silu_floor(x), *slope_floor(torch.full_like(x, UPSTREAM), x)


def _drawn(*shape: int, dtype: torch.dtype = torch.float32, view: View = as_it_is) -> Inputs:
    return lambda generator: (view(normal(generator, shape, dtype, 3.0)),)


def _listed(*values: float) -> Inputs:
    return lambda generator: (torch.tensor(values),)


def _one_nan(generator: Generator) -> Args:
    x = normal(generator, (40,), scale=3.0)
    x[7] = torch.nan
    return (x,)


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
        Case(
            "ordinary values",
            _drawn(300),
            "Begin here: 300 numbers, and the gradient of -0.75 for each result. " + ABOVE,
        ),
        Case(AGAIN, _drawn(300), KEEP_NOTHING),
        Case("zeros", _listed(0.0, -0.0, 0.5, 0.0, -2.0), ABOVE + "At 0 the slope is 1/2."),
        Case("values up to 100", _listed(-100.0, -50.0, -1.2785, 30.0, 88.0, 100.0), STEP_BY_STEP),
        *(
            Case(f"{dtype}".removeprefix("torch."), _drawn(300, dtype=dtype), "The gradient has the dtype of x.")
            for dtype in reversed(HALVES)
        ),
        Case("one element", _drawn(1), "One element."),
        Case("no dimensions", _drawn(), "x.shape may be ()."),
        Case("no elements", _drawn(0), "An empty tensor goes in, an empty tensor comes out, attached to the graph."),
        Case("transposed", _drawn(37, 53, view=transposed), "A transposed matrix: any strides will do."),
        Case("every second column", _drawn(9, 21, view=every_second), "The stride of the last dimension is 2."),
        Case("NaN in one element", _one_nan, "One NaN: its own result and gradient are NaN, and no other."),
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
