"""The soft cap of a logit, which Gemma 2 has (arXiv:2408.00118): near 0 it is x, and it never leaves ±cap."""

import torch
from torch import Tensor

from ..judge import Exercise, Output, Tolerance, case, draw
from .cases.elementwise import elementwise
from .cases.rounding import EPS

UNDERFLOW = 5e-38  # e^z is 0 or has few digits from z = -87 on


def formula(x: Tensor, cap: float = 30.0) -> Tensor:
    """cap · tanh(x / cap) in float64."""
    return cap * torch.tanh(x / cap)


def floor(x: Tensor, cap: float = 30.0) -> tuple[Tensor]:
    """x / cap is rounded to a subnormal number where x is one, by half a step of 1.4e-45, and multiplied by cap."""
    return (torch.full_like(x, abs(cap) * 1.4e-45),)


def no_floor(x: Tensor, cap: float = 30.0) -> tuple[Tensor]:
    """Near 0 the function is x itself."""
    return (torch.zeros_like(x),)


def subnormal() -> Tensor:
    """Subnormal numbers, of which x / cap keeps no digit."""
    return torch.arange(1, 29) * 1.4e-45


def in_pytorch(x: Tensor, cap: float = 30.0) -> Tensor:
    """The formula as anybody would write it."""
    return (cap * torch.tanh(x.float() / cap)).to(x.dtype)


softcap_forward = Exercise(
    name="softcap_forward",
    summary="y = cap · tanh(x / cap)",
    oracle=formula,
    outputs=(Output("y", like="x"),),
    cases=(
        *elementwise(("x",), "x", subnormal, arguments=lambda generator, x: (x, 20.0)),
        case("the default cap", "cap is left out: 30.", x=draw.normal(300).scale(60.0)),
    ),
    tolerance=Tolerance(1, 8, "One rounding at the end, and a few of float32 on the way.", floor, no_floor),
    hint="x / cap, its hyperbolic tangent, times cap, in float32. Near 0 that is x.",
    least_bytes=lambda x, cap=30.0: 2 * x.numel() * x.element_size(),
    traffic=1.05,
    peer=in_pytorch,
    about=("tiny values", "large values"),
)


def slope(x: Tensor, cap: float) -> Tensor:
    """1 / cosh²(x / cap), without the difference 1 - tanh²."""
    e = torch.exp(-2 * (x / cap).abs())
    return 4 * e / (1 + e) ** 2


def derivative(dy: Tensor, x: Tensor, cap: float = 30.0) -> Tensor:
    """dy / cosh²(x / cap) in float64."""
    return dy * slope(x, cap)


def derivative_floor(dy: Tensor, x: Tensor, cap: float = 30.0) -> tuple[Tensor]:
    """1 - tanh² loses 2 ulp of 1 where tanh is nearly 1."""
    return (2 * EPS * dy.abs() + careful_floor(dy, x, cap)[0],)


def careful_floor(dy: Tensor, x: Tensor, cap: float = 30.0) -> tuple[Tensor]:
    """Returns what e^z costs, z = -2 |x / cap|: |z| roundings of z, until it is 0."""
    z = (2 * x / cap).abs().nan_to_num(posinf=0)
    return (dy.abs() * (EPS * z * slope(x, cap).nan_to_num() + UNDERFLOW),)


def derivative_in_pytorch(dy: Tensor, x: Tensor, cap: float = 30.0) -> Tensor:
    """Returns what autograd makes of the formula."""
    tanh = torch.tanh(x.float() / cap)
    return (dy.float() * (1 - tanh * tanh)).to(x.dtype)


softcap_backward = Exercise(
    name="softcap_backward",
    summary="dx = dy / cosh²(x / cap)",
    oracle=derivative,
    outputs=(Output("dx", like="x"),),
    cases=(
        *elementwise(
            ("dy", "x"), "x", lambda: torch.linspace(190, 800, 211), arguments=lambda generator, dy, x: (dy, x, 20.0)
        ),
        case("the default cap", "cap is left out: 30.", dy=draw.normal(300), x=draw.normal(300).scale(60.0)),
    ),
    tolerance=Tolerance(
        1, 8, "1 - tanh² cancels where tanh is nearly 1, by 2 ulp of 1.", derivative_floor, careful_floor
    ),
    hint="The derivative of tanh is 1 - tanh², which is 1 / cosh². The two factors cap cancel.",
    refused=frozenset({"autograd", "tanh_backward"}),
    peer=derivative_in_pytorch,
    least_bytes=lambda dy, x, cap=30.0: 3 * x.numel() * x.element_size(),
    traffic=1.05,
    forward=softcap_forward,
    about=("large values",),
)
