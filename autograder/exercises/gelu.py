"""GELU in its two forms. Cases: apache/tvm#16188, which lost the factor x; pytorch/pytorch#187806 for the tails."""

import math
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor

from ...kernels.wild import gelu as wild
from ..judge import Category, Exercise, Floors, Output, Tolerance, WildBug, Witness, case, draw
from .cases.gelu import in_both_forms
from .cases.rounding import EPS

FLUSHED = 2.0**-125  # twice what oneDNN and a GPU's fast instructions return 0 for
Form = Literal["none", "tanh"]
BEYOND_148 = "tanh: beyond 148 in float16"
A, B = 2 * math.sqrt(2 / math.pi), 0.044715 * 2 * math.sqrt(2 / math.pi)  # 2u = A x + B x³


def cumulative(x: Tensor, approximate: str) -> Tensor:
    """F(x): the normal distribution, or the sigmoid that approximates it."""
    if approximate == "none":
        below: Tensor = torch.special.erfc(-x / math.sqrt(2))
        return below / 2
    if approximate == "tanh":
        return torch.sigmoid(A * x + B * x**3)
    raise ValueError(f"approximate is 'none' or 'tanh', not {approximate!r}")


def density(x: Tensor, approximate: str) -> Tensor:
    """F'(x)."""
    if approximate == "none":
        return torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    z = A * x + B * x**3
    return torch.sigmoid(z) * torch.sigmoid(-z) * (A + 3 * B * x * x)


def gelu(x: Tensor, approximate: Form = "none") -> Tensor:
    """Returns x · F(x) in float64, with its limit -0 at -infinity."""
    return torch.where(x == -torch.inf, -0.0, x * cumulative(x, approximate))


def gelu_slope(x: Tensor, approximate: str = "none") -> Tensor:
    """Returns the derivative F(x) + x · F'(x) in float64, with its limits at both infinities."""
    slope = cumulative(x, approximate) + x * density(x, approximate)
    return torch.where(x.isinf(), (x > 0).double(), slope)


def gelu_gradient(dy: Tensor, x: Tensor, approximate: Form = "none") -> Tensor:
    """dy · (F(x) + x · F'(x)) in float64."""
    return dy * gelu_slope(x, approximate)


def exponent(x: Tensor, approximate: str) -> Tensor:
    """|w| where F(x) falls like e^-w on the left: rounded to float32, it takes |w| roundings with it."""
    return x * x / 2 if approximate == "none" else A * x.abs() + B * x.abs() ** 3


def finite(x: Tensor) -> Tensor:
    """Returns x with 0 for infinity, at which no rounding counts."""
    return x.nan_to_num(posinf=0, neginf=0)


def gelu_floor(x: Tensor, approximate: Form = "none") -> Floors:
    """1 + erf and 1 + tanh keep no digits below a few roundings of the 1: PyTorch's erf is off by 6e-7 on a CPU."""
    return (6 * EPS * finite(x).abs() + FLUSHED,)


def gelu_tail_floor(x: Tensor, approximate: Form = "none") -> Floors:
    """The rounding floor of the tail, where e^-(x²/2) takes over the error of its exponent."""
    x = finite(x)
    return (2 * EPS * exponent(x, approximate) * gelu(x, approximate).abs(),)


def slope_floor(dy: Tensor, x: Tensor, approximate: Form = "none") -> Floors:
    """1 + erf and 1 + tanh again, and 1 - tanh², which leaves a rounding of 1 to be multiplied by x · u'."""
    reach = finite(x).abs().clamp(max=6)  # from where on tanh is exactly 1
    return (EPS * dy.abs() * (4 + reach * (A + 3 * B * reach**2)) + FLUSHED,)


def slope_tail_floor(dy: Tensor, x: Tensor, approximate: Form = "none") -> Floors:
    """F(x) + x · F'(x) cancels near -0.75: each term leaves its own roundings, those of its exponent too."""
    x = finite(x)
    terms = cumulative(x, approximate) + (x * density(x, approximate)).nan_to_num().abs()
    below = torch.where(x < 0, terms, 0.0)
    return (EPS * dy.abs() * below * (4 + 2 * exponent(x, approximate).clamp(max=1e3)),)


def gelu_tail(approximate: str) -> Tensor:
    """float32 from where 1 + erf and 1 + tanh are nearly 0, to where gelu leaves the subnormals."""
    return torch.linspace(-14.4 if approximate == "none" else -10.6, -3.0, 997)


REASON = (
    "One rounding at the end costs half an ulp; float32 arithmetic inside adds a few ulp of float32. 1 + erf and 1 + "
    "tanh, which every library computes, are wrong by a few roundings of the 1: times x, that is the floor."
)


def in_tanh_form(
    function: Callable[..., Any], who: str, thread: str, story: str, seen_by: str = "tanh: ordinary values"
) -> WildBug:
    """Returns a bug of GELU's tanh form, which that form's ordinary values show unless ``seen_by`` says otherwise."""
    return WildBug(who, thread, function, seen_by, story)


TEN_TIMES = in_tanh_form(
    wild.gelu_ten_times_the_cubic,
    "tanh-GELU with 0.44715",
    "a constructed bug: one zero short of 0.044715",
    "The constant is ten times too large. The curve stays smooth, and a language model's text still makes sense.",
)
WILD = (
    TEN_TIMES,
    in_tanh_form(
        wild.gelu_without_x,
        "TVM's relax, May to November 2023,",
        "apache/tvm#16188",
        "The factor x is missing. Its test compared the compiled program with a copy of itself.",
    ),
    in_tanh_form(
        wild.gelu_root_of_two_only,
        "tanh-GELU with sqrt(2) / pi",
        "a root that ends too early",
        "The factor is sqrt(2 / pi) = 0.798; sqrt(2) / pi is 0.450.",
    ),
    in_tanh_form(
        wild.gelu_misplaced_parenthesis,
        "tanh-GELU with tanh(sqrt(2 / pi)) * (x + 0.044715 x^3)",
        "a parenthesis that closes too early",
        "tanh is taken of the constant alone; what multiplies it grows without bound.",
    ),
    in_tanh_form(
        wild.gelu_always_erf,
        "the erf form, whatever is asked for,",
        "the cure that is often advised; GPT-2 is tanh: openai/gpt-2, src/model.py",
        "erf and tanh differ by at most 4.7e-4. Nobody will notice, and it is not what the weights were trained with.",
    ),
    in_tanh_form(
        wild.gelu_tanh_by_exponentials,
        "tanh by exponentials, (e^2u - 1) / (e^2u + 1),",
        "intel/llm-scaler#484, pytorch/pytorch#186278",
        "e^2u overflows beyond x = 10, and inf / inf is NaN. A sigmoid needs no such exponential.",
        "tanh: large values",
    ),
    in_tanh_form(
        wild.gelu_tanh_by_both_exponentials,
        "tanh by exponentials, (e^u - e^-u) / (e^u + e^-u),",
        "pytorch/executorch#22323",
        "e^|u| overflows from |x| = 13 on, on both sides, and inf / inf is NaN. A sigmoid needs no such exponential.",
        "tanh: large values",
    ),
    WildBug(
        "erf-GELU without the root, erf(x),",
        "erf(x) for erf(x / sqrt(2))",
        wild.gelu_erf_without_root,
        "ordinary values",
        "Φ(x) = (1 + erf(x / √2)) / 2: the error function is the normal distribution on another scale.",
    ),
    WildBug(
        "GELU without the factor 0.5",
        "a factor that got lost",
        wild.gelu_no_half,
        "ordinary values",
        "1 + erf and 1 + tanh run from 0 to 2: F(x) is half of them.",
    ),
    WildBug(
        "x * sigmoid(1.702 x)",
        "the third approximation of arXiv:1606.08415; huggingface/pytorch-image-models#2105",
        wild.gelu_sigmoid,
        "ordinary values",
        "It is wrong by up to 0.02: right for models trained with it, such as CLIP, and for no other.",
    ),
)

gelu_forward = Exercise(
    name="gelu_forward",
    summary="y = x · F(x), F the normal distribution or its tanh approximation",
    oracle=gelu,
    outputs=(Output("y"),),
    cases=in_both_forms(("x",), gelu_tail),
    tolerance=Tolerance(1, 8, REASON, gelu_floor, gelu_tail_floor),
    hint="x times F(x), computed in float32. The argument `approximate` says which F.",
    refused=frozenset({"gelu"}),
    peer=lambda x, approximate="none": torch.nn.functional.gelu(x, approximate=approximate),
    wild=WILD,
    points=3,
    least_bytes=lambda x, approximate="none": 2 * x.numel() * x.element_size(),
    traffic=1.05,
)

gelu_backward = Exercise(
    name="gelu_backward",
    summary="dx = dy · (F(x) + x · F'(x))",
    oracle=gelu_gradient,
    outputs=(Output("dx"),),
    cases=(
        *in_both_forms(("dy", "x"), gelu_tail),
        case(
            BEYOND_148,
            "The slope is 0 or 1 here, and 3 x² is infinite in float16: convert to float32 before you multiply.",
            dy=draw.tensor([0.75, -1.25, 3.0, -0.5, 1.75, 2.5]).to(torch.float16),
            x=draw.tensor([150.0, -160.0, 200.0, -250.0, 300.0, 4000.0]).to(torch.float16),
            approximate="tanh",
            category=Category.POINT,
        ),
    ),
    tolerance=Tolerance(1, 8, REASON, slope_floor, slope_tail_floor),
    hint="Differentiate x · F(x) by the product rule; F' is a density, or s(z) · s(-z) · z'.",
    refused=frozenset({"gelu", "gelu_backward", "autograd"}),
    peer=lambda dy, x, approximate="none": torch.ops.aten.gelu_backward(dy, x, approximate=approximate),
    wild=(
        WildBug(
            "fairseq's gelu_accurate in float16",
            "facebookresearch/fairseq#2235",
            wild.gelu_backward_in_half,
            BEYOND_148,
            "3 x² overflows float16 from 148 on, where 1 - tanh² is 0. The output is right, the gradient 0 · inf.",
        ),
    ),
    points=4,
    least_bytes=lambda dy, x, approximate="none": 3 * x.numel() * x.element_size(),
    traffic=1.05,
    forward=gelu_forward,
)

gelu_witness = Witness(
    name="gelu_witness",
    summary='(x,) or (x, "tanh") on which tanh-GELU with 0.44715 for 0.044715 is wrong',
    exercise=Exercise(
        name="gelu_forward",
        summary=gelu_forward.summary,
        oracle=lambda x, approximate="tanh": gelu(x, approximate),
        outputs=gelu_forward.outputs,
        cases=(),
        tolerance=Tolerance(1, 8, REASON, lambda x, approximate="tanh": gelu_floor(x, approximate)),
        hint=gelu_forward.hint,
        peer=lambda x, approximate="tanh": torch.nn.functional.gelu(x, approximate=approximate),
    ),
    bug=WildBug(
        TEN_TIMES.who,
        TEN_TIMES.thread,
        lambda x, approximate="tanh": wild.gelu_ten_times_the_cubic(x, approximate),
        TEN_TIMES.seen_by,
        TEN_TIMES.story,
    ),
    hint="Draw both curves. Where is the cubic term too small to matter, and where is tanh ±1 whatever is inside?",
    complaint=lambda x, approximate="tanh": (
        "" if approximate == "tanh" else 'The bug is in the tanh form: (x, "tanh").'
    ),
    points=2,
)
