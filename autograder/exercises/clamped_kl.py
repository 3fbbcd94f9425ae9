"""The estimator k3 with a cap, whose gradient PyTorch takes. Cases: OpenRLHF#1335, and #1160, which was closed."""

import torch
from torch import Tensor

from ...kernels.wild import kl as wild
from ..judge import Arguments, CommonMistake, Exercise, Floors, Output, Tolerance, WildBug, case, draw
from .cases.rounding import EPS
from .cases.wording import AGAIN, KEEP_NOTHING, STEP_BY_STEP
from .kl import k3

CAP, REACHED = 10.0, 2.6109  # r where k3 reaches it; and at -10.99998


def capped(logp: Tensor, ref: Tensor) -> tuple[Tensor, Tensor]:
    """(min(k3, 10), its gradient in logp for `Exercise.upstream_of`), which is 0 above the cap."""
    r = (ref - logp).clamp(-20, 5)
    kl = k3(torch.zeros_like(r), r)
    gradient = -Exercise.upstream_of(logp, logp.shape) * torch.expm1(r)
    return kl.clamp(max=CAP), gradient.masked_fill(kl > CAP, 0.0).detach()


def floor(logp: Tensor, ref: Tensor) -> Floors:
    """r is rounded, and so is the argument of 2^(r · log2 e); e^r, 1 and r are subtracted as they are rounded. The
    gradient at a NaN may be anything: PyTorch's clamp makes it 0.
    """
    r = (ref - logp).clamp(-20, 5)
    lost = EPS * (1 + r.abs()) * (2 + 2 * r.exp())
    return lost, lost.masked_fill(r.isnan(), torch.inf)


def pairs(*sizes: int) -> Arguments:
    """log-probabilities whose r is between -9.9 and 9.9, and not where the cap is reached."""
    r = draw.normal(*sizes).scale(3.0).clamp(-9.9, 9.9).map(lambda r: torch.where((r - REACHED).abs() < 0.01, 1.5, r))
    return Arguments.named(logp=draw.normal(*sizes).scale(3.0).map(lambda x: -x.abs()), ref=r.plus("logp"))


def ratios(*values: float) -> Arguments:
    """r as listed, a random logp beside each, so that logp + r is r away from it."""
    logp = draw.integers(len(values), low=-64, high=-1).map(lambda x: x / 8)
    return Arguments.named(logp=logp, ref=draw.tensor(values).plus("logp"))


AFTER = WildBug(
    who="OpenRLHF 0.8.6 to 0.11.0",
    thread="OpenRLHF/OpenRLHF#1335",
    function=wild.clamped_kl_after,
    seen_by="r from 3 to 10,000",
    story=(
        "What limits the value, a clamp there and as well a where, comes after exp. At r = 100 the value is 10 and "
        "looks right; backward multiplies its 0 by e^100, which is infinite in float32: NaN."
    ),
)
TEN = CommonMistake(
    who="r between -10 and 10 before exp, as proposed in OpenRLHF#1160 and closed,",
    function=wild.clamped_kl_ten,
    seen_by="r from -10.9 to -10.1",
    story="k3 is below its cap until r = -10.99998. From -10 on this returns 9 and a gradient of 0 instead of ±1.",
)

clamped_kl = Exercise(
    name="clamped_kl",
    summary="kl = min(e^r - 1 - r, 10), r = ref - logp; its gradient is that of k3 below the cap, and 0 above",
    oracle=capped,
    outputs=(Output("kl", "logp"), Output("dlogp", "logp")),
    cases=(
        case("ordinary values", "Begin here: 300 log-probabilities, r from -9.9 to 9.9. " + STEP_BY_STEP, pairs(300)),
        case(AGAIN, KEEP_NOTHING, pairs(300)),
        case(
            "r from 3 to 10,000",
            "k3 is above the cap: the result is 10, and its gradient is 0. Which factors does backward multiply here, "
            "and is one of them e^100?",
            ratios(3.0, 12.0, 50.0, 88.0, 89.0, 100.0, 1e3, 1e4),
        ),
        case(
            "r from -10.9 to -10.1",
            "k3 is below the cap here: 9.1 to 9.9, with a slope. What bounds r must not change what is below the cap.",
            ratios(-10.875, -10.75, -10.5, -10.25, -10.125),
        ),
        case(
            "r from -10,000 to -11.5",
            "k3 is -1 - r here, above the cap: 10, with a gradient of 0.",
            ratios(-11.5, -20.0, -88.0, -104.0, -1e3, -1e4),
        ),
        case(
            "r near 0",
            "Nothing is capped: k3, and its own gradient.",
            ratios(0.0, 0.5, -0.5, 0.125, -0.125, 1.0, -1.0, 2.5),
        ),
        case(
            "NaN",
            "One element of logp is NaN, and one of ref. NaN in gives NaN out, in its own element of kl and in no "
            "other; nothing is asked of the gradient there.",
            pairs(60),
            logp=draw.same.put(float("nan"), 4),
            ref=draw.same.put(float("nan"), 47),
        ),
        case("one element", "One element.", pairs(1)),
        case("no dimensions", "logp.shape may be ().", pairs()),
        case("no elements", "An empty tensor goes in, an empty tensor comes out, attached to the graph.", pairs(0)),
        case(
            "transposed",
            "Transposed matrices: any strides will do.",
            pairs(37, 53).each(draw.same.transposed(), "logp", "ref"),
        ),
    ),
    tolerance=Tolerance(1, 8, "e^r - 1 - r in float32 as it stands: r and each of its terms are rounded.", floor),
    hint="Return kl alone; the check takes its gradient. Bound r before exp, where the cap has been passed already.",
    backends=("torch",),
    refused=frozenset({"kl_div"}),
    wild=(AFTER, TEN),
    points=2,
    gradient_of="logp",
    about=("r from 3 to 10,000", "r from -10.9 to -10.1", "r from -10,000 to -11.5"),
)
