"""Says what gradients are multiplied by where their norm is too large. Cases: pytorch#46849 and #31367."""

from dataclasses import replace

import torch
from torch import Tensor

from ...kernels.wild import gradient_norm as wild
from ..judge import CommonMistake, Exercise, Floors, Output, Tolerance, Values, WildBug, case, draw
from .cases.rounding import EPS
from .cases.wording import AGAIN, KEEP_NOTHING

INF, NAN = float("inf"), float("nan")


def coefficient(norm: Tensor, max_norm: float) -> Tensor:
    """min(1, max_norm / norm); 0 for a max_norm of 0, and NaN where the norm is not finite."""
    ratio = torch.where(norm > max_norm, max_norm / norm, float(max_norm > 0))
    return ratio.masked_fill(~norm.isfinite(), NAN)


def floor(norm: Tensor, max_norm: float) -> Floors:
    """PyTorch adds 1e-6 to the norm: half of what is allowed."""
    return ((coefficient(norm, max_norm) * (2 * EPS + 2e-6 / (norm + 1e-6))).nan_to_num(),)


def norms(*sizes: int, max_norm: float = 1.0) -> Values:
    """Norms from a tenth of max_norm to ten times it."""
    return draw.uniform(*sizes).map(lambda x: max_norm * 10 ** (2 * x - 1))


LOST = (
    "A norm of {}: no factor makes such gradients right. With 0 they vanish, and nobody sees it; with 1 they pass. NaN "
    "is seen."
)
ZEROED = WildBug(
    who="PyTorch's clip_grad_norm_ by default",
    thread="pytorch/pytorch#46849",
    function=wild.coefficient_pytorch,
    seen_by="an infinite norm",
    story="1 / inf is 0: finite gradients whose norm overflowed become 0, and training goes on without them.",
)
ALWAYS = CommonMistake(
    who="max_norm / norm without min",
    function=wild.coefficient_without_min,
    seen_by="ordinary values",
    story="Gradients below the limit are lengthened to it.",
)

clip_coefficient = Exercise(
    name="clip_coefficient",
    summary="min(1, max_norm / norm); NaN where the norm is not finite, 0 where max_norm is",
    oracle=coefficient,
    outputs=(Output("coefficient", torch.float32),),
    cases=(
        case("ordinary values", "Begin here: norms from 0.1 to 10, and a limit of 1.", norm=norms(200), max_norm=1.0),
        case(AGAIN, KEEP_NOTHING, norm=norms(200), max_norm=1.0),
        case("another limit", "max_norm is 0.3.", norm=norms(200, max_norm=0.3), max_norm=0.3),
        case(
            "at the limit",
            "At the limit nothing is changed: 1.",
            norm=draw.tensor([1.0, 0.99999994, 1.0000001, 2.0]),
            max_norm=1.0,
        ),
        case(
            "a norm of 0",
            "Gradients of 0 have a norm of 0. Nothing has to be shortened: 1.",
            norm=draw.tensor([0.0, 0.0, 3.0]),
            max_norm=1.0,
        ),
        case(
            "max_norm 0",
            "A limit of 0: nothing is to move, and the coefficient is 0, also where the norm is 0. What is 0 / 0?",
            norm=draw.tensor([2.0, 0.0, 1e-20, 300.0]),
            max_norm=0.0,
        ),
        case(
            "no limit",
            "max_norm is infinite: finite norms are left alone.",
            norm=draw.tensor([0.0, 5.0, 3e38]),
            max_norm=INF,
        ),
        case("an infinite norm", LOST.format("infinity"), norm=draw.tensor([INF, 2.0, INF]), max_norm=1.0),
        case("a norm of NaN", LOST.format("NaN"), norm=draw.tensor([NAN, 0.5]), max_norm=1.0),
        case(
            "an infinite norm, no limit",
            "inf / inf: NaN, and 1 for the 2.",
            norm=draw.tensor([INF, 2.0, NAN]),
            max_norm=INF,
        ),
        case("an infinite norm, max_norm 0", "NaN, 0, NaN.", norm=draw.tensor([INF, 2.0, NAN]), max_norm=0.0),
        replace(
            case(
                "a negative max_norm",
                "A negative limit would turn every gradient around: a ValueError that says which number it is.",
                norm=draw.tensor([2.0, 0.5]),
                max_norm=-1.0,
            ),
            raises=ValueError,
            says=r"-1",
            repaired=lambda args: (args[0], 1.0),
        ),
        replace(
            case(
                "a max_norm of NaN",
                "NaN is no limit: `max_norm < 0` is False for it. A ValueError.",
                norm=draw.tensor([2.0, 0.5]),
                max_norm=NAN,
            ),
            raises=ValueError,
            says=r"(?i)nan",
            repaired=lambda args: (args[0], 1.0),
        ),
        case("one norm", "norm.shape is (), as global_norm returns it.", norm=norms(), max_norm=1.0),
        case("no norms", "An empty tensor goes in, an empty tensor comes out.", norm=norms(0), max_norm=1.0),
        case(
            "every second column",
            "The stride of the last dimension is 2.",
            norm=norms(5, 8).every_second(),
            max_norm=1.0,
        ),
    ),
    tolerance=Tolerance(1, 8, "A quotient; PyTorch adds 1e-6 to the norm, which counts as right, too.", floor),
    hint="Three questions before the quotient: is max_norm a limit, is the norm finite, is there something to shorten?",
    backends=("torch",),
    wild=(ZEROED, ALWAYS),
    points=2,
    about=("an infinite norm", "a norm of NaN", "max_norm 0", "a negative max_norm", "a max_norm of NaN"),
)
