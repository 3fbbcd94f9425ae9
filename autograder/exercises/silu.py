"""SiLU and SwiGLU. Case: candle 0.4.1 to 0.5.0, huggingface/candle#2082."""

import torch
from torch import Tensor

from ...kernels.wild import silu as wild
from ..judge import Exercise, Floors, Output, Tolerance, WildBug, Witness, case, draw
from .cases.elementwise import elementwise
from .cases.rounding import EPS

UNDERFLOW = 1e-36  # e^88.7 overflows float32: 1 / (1 + e^-x) is 0 below -88.7, where x · s(x) is still -3e-37


def silu(x: Tensor) -> Tensor:
    """Returns x · s(x) in float64, with its limit -0 at -infinity."""
    return torch.where(x == -torch.inf, -0.0, x * torch.sigmoid(x))


def silu_slope(x: Tensor) -> Tensor:
    """s(x) · (1 + x · s(-x)), with its limits 0 and 1 at the infinities."""
    slope = torch.sigmoid(x) * (1 + x * torch.sigmoid(-x))
    return torch.where(x.isinf(), (x > 0).double(), slope)


def slope_floor(dy: Tensor, x: Tensor) -> Floors:
    """1 + x · s(-x) cancels near -1.28: each term leaves its own rounding. e^x costs |x| roundings of x · log2 e
    more; s(-x) as 1 - s(x) those of s(x), times x, until it is 0.
    """
    x = x.nan_to_num(posinf=0, neginf=0)
    difference = EPS * dy.abs() * torch.sigmoid(x) * x.abs().clamp(max=20)
    return (slope_cancellation(dy, x)[0] * (1 + x.abs() * torch.sigmoid(-x)) + difference + UNDERFLOW * dy.abs(),)


def slope_cancellation(dy: Tensor, x: Tensor) -> tuple[Tensor]:
    """Returns the rounding of the terms of 1 + x · s(-x), which no float32 code avoids."""
    x = x.nan_to_num(posinf=0, neginf=0)
    return (4 * EPS * torch.sigmoid(x) * (1 + x.abs() * torch.sigmoid(-x)) * dy.abs(),)


def silu_floor(x: Tensor) -> Floors:
    """The rounding of e^x: |x| roundings, where s(-x) does not hide them."""
    x = x.nan_to_num(posinf=0, neginf=0)
    return (EPS * (x * torch.sigmoid(x)).abs() * x.abs() * torch.sigmoid(-x) + UNDERFLOW,)


def silu_tail() -> Tensor:
    """float32 from -88.7, where e^-x overflows, to -103.9, where silu leaves the subnormals."""
    return torch.linspace(-103.9, -87.0, 997)


def torch_swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """PyTorch's SwiGLU in float32, rounded at the end."""
    return (torch.nn.functional.silu(gate.float()) * up.float()).to(gate.dtype)


def torch_swiglu_gradients(dy: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    """Returns what autograd makes of silu(gate) · up, in float32, rounded at the end."""
    dy, g, u = dy.float(), gate.float(), up.float()
    dgate, dup = torch.ops.aten.silu_backward(dy * u, g), dy * torch.nn.functional.silu(g)
    return dgate.to(gate.dtype), dup.to(up.dtype)


REASON = (
    "One rounding at the end costs half an ulp; float32 arithmetic inside adds a few ulp of float32, exp written as "
    "exp2(x · log2 e) up to |x| of them in the tail; below -88.7 a plain 1 / (1 + e^-x) is 0, which is 4e-37 away."
)

silu_forward = Exercise(
    name="silu_forward",
    summary="y = x · s(x), s(x) = 1 / (1 + e^-x)",
    oracle=lambda x: silu(x),
    outputs=(Output("y"),),
    cases=elementwise(("x",), "x", silu_tail),
    tolerance=Tolerance(1, 8, REASON, silu_floor),
    hint="x times the sigmoid of x, computed in float32.",
    refused=frozenset({"silu"}),
    peer=torch.nn.functional.silu,
    points=2,
    least_bytes=lambda x: 2 * x.numel() * x.element_size(),
    traffic=1.05,
    about=("large values",),
)


DIVIDE_BACK = WildBug(
    who="candle 0.4.1-0.5.0",
    thread="huggingface/candle#2082",
    function=wild.silu_backward_divide_back,
    seen_by="exact zeros",
    story=(
        "It got s(x) back from the saved output as y / x. At x = 0 that is 0 / 0, and one NaN in a gradient is soon "
        "everywhere."
    ),
)
EPSILON = WildBug(
    who="the epsilon cure, y / (x + 1e-8),",
    thread="proposed and rejected in huggingface/candle#2082",
    function=wild.silu_backward_epsilon,
    seen_by="exact zeros",
    story="No NaN at 0 any more, but the gradient there is 0 instead of 1/2, and x = -1e-8 divides by zero instead.",
)
CANDLE_NOW = WildBug(
    who="candle since 0.7.0",
    thread="huggingface/candle#2393",
    function=wild.silu_backward_candle_now,
    seen_by="from 2^24 on",
    story="s · (1 - y) + y: for large x the 1 is lost in 1 - y, and adding y back gives 0 or 2 instead of 1.",
)

silu_backward = Exercise(
    name="silu_backward",
    summary="dx = dy · s(x) · (1 + x · s(-x)), s(x) = 1 / (1 + e^-x)",
    oracle=lambda dy, x: dy * silu_slope(x),
    outputs=(Output("dx"),),
    cases=(
        *elementwise(("dy", "x"), "x", silu_tail),
        case(
            "below powers of two",
            "The slope is 1 here. 1 + x has a digit less than x, so that 1 + x - x is not 1.",
            dy=draw.tensor([0.75, -1.25, 3.0, -0.5, 1.75]),
            x=draw.tensor([511.99997, 1023.99994, 2047.9999, 4095.9998, 8191.9995]),
        ),
        case(
            "from 2^24 on",
            "The slope is 1 here, and 1 + x is x: float32 has no odd integers from 2^24 on. Is a 1 added to a number "
            "as large as x, or taken from one?",
            dy=draw.tensor([1.25, -0.75, 2.0, -3.5, 0.625]),
            x=draw.tensor([16_777_218.0, 3e7, 1e8, 123_456_789.0, 1e10]),
        ),
    ),
    tolerance=Tolerance(1, 8, REASON, slope_floor, slope_cancellation),
    hint="Differentiate x · s(x) by the product rule. You need x; you do not need y.",
    refused=frozenset({"silu_backward", "autograd"}),
    peer=torch.ops.aten.silu_backward,
    wild=(DIVIDE_BACK, EPSILON, CANDLE_NOW),
    points=4,
    least_bytes=lambda dy, x: 3 * x.numel() * x.element_size(),
    traffic=1.05,
    forward=silu_forward,
    about=("exact zeros", "tiny values", "from 2^24 on"),
)

swiglu_forward = Exercise(
    name="swiglu_forward",
    summary="y = silu(gate) · up",
    oracle=lambda gate, up: silu(gate) * up,
    outputs=(Output("y", "gate"),),
    cases=elementwise(("gate", "up"), "gate", silu_tail),
    tolerance=Tolerance(1, 8, REASON, lambda gate, up: (silu_floor(gate)[0] * up.abs(),)),
    hint="One kernel, one rounding: silu(gate) stays in float32 until it has met up.",
    backends=("triton",),
    peer=torch_swiglu,
    points=3,
    least_bytes=lambda gate, up: 3 * up.numel() * up.element_size(),
    traffic=1.05,
    about=("memory traffic",),
)

swiglu_backward = Exercise(
    name="swiglu_backward",
    summary="dgate = dy · up · silu'(gate), dup = dy · silu(gate)",
    oracle=lambda dy, gate, up: (dy * up * silu_slope(gate), dy * silu(gate)),
    outputs=(Output("dgate", "gate"), Output("dup", "up")),
    cases=elementwise(("dy", "gate", "up"), "gate", silu_tail),
    tolerance=Tolerance(
        1,
        8,
        REASON,
        lambda dy, gate, up: (*slope_floor(dy * up, gate), silu_floor(gate)[0] * dy.abs()),
        lambda dy, gate, up: (*slope_cancellation(dy * up, gate), 0.0),
    ),
    hint="Two outputs of one pass: read dy, gate and up once, write dgate and dup.",
    backends=("triton",),
    peer=torch_swiglu_gradients,
    refused=frozenset({"autograd"}),
    points=4,
    least_bytes=lambda dy, gate, up: 5 * up.numel() * up.element_size(),
    traffic=1.05,
    forward=swiglu_forward,
    about=("memory traffic",),
)

silu_witness = Witness(
    name="silu_witness",
    summary="(dy, x) on which candle's y / x gives a wrong gradient",
    exercise=silu_backward,
    bug=DIVIDE_BACK,
    hint="Where does y / x not give s(x) back? Two kinds of x do it.",
    complaint=lambda dy, x: (
        "" if (dy.shape, dy.dtype) == (x.shape, x.dtype) else "dy and x need one shape and one dtype."
    ),
    points=2,
)
