"""The estimator k3 with a cap, whose gradient PyTorch takes. Cases: OpenRLHF#1335, and #1160, which was closed."""

import torch
from torch import Generator, Tensor

from ...kernels.wild import kl as wild
from ..judge import (
    AGAIN,
    EPS,
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
    WildBug,
    as_it_is,
    normal,
    transposed,
)
from ..runner import UPSTREAM, Args
from .kl import k3

CAP, REACHED = 10.0, 2.6109  # r where k3 reaches it; and at -10.99998


def capped(logp: Tensor, ref: Tensor) -> tuple[Tensor, Tensor]:
    """(min(k3, 10), its gradient in logp for `UPSTREAM`), which is 0 above the cap."""
    r = (ref - logp).clamp(-20, 5)
    kl = k3(torch.zeros_like(r), r)
    return kl.clamp(max=CAP), (-UPSTREAM * torch.expm1(r)).masked_fill(kl > CAP, 0.0).detach()


def floor(logp: Tensor, ref: Tensor) -> Floors:
    """r is rounded, and so is the argument of 2^(r · log2 e); e^r, 1 and r are subtracted as they are rounded."""
    r = (ref - logp).clamp(-20, 5)
    lost = EPS * (1 + r.abs()) * (2 + 2 * r.exp())
    return lost, lost


def _drawn(*shape: int, view: View = as_it_is) -> Inputs:
    """log-probabilities whose r is between -9.9 and 9.9, and not where the cap is reached."""

    def inputs(generator: Generator) -> Args:
        logp, r = -normal(generator, shape, scale=3.0).abs(), normal(generator, shape, scale=3.0).clamp(-9.9, 9.9)
        r = torch.where((r - REACHED).abs() < 0.01, 1.5, r)
        return view(logp), view(logp + r)

    return inputs


def _ratios(*values: float) -> Inputs:
    """r as listed, a random logp beside each."""

    def inputs(generator: Generator) -> Args:
        r = torch.tensor(values)
        logp = torch.randint(-64, 0, r.shape, generator=generator) / 8  # so that logp + r is r away from it
        return logp, logp + r

    return inputs


AFTER = WildBug(
    who="OpenRLHF 0.8.6 to 0.11.0",
    thread="OpenRLHF/OpenRLHF#1335",
    function=wild.clamped_kl_after,
    seen_by="r from 3 to 10,000",
    story=(
        "The clamp comes after exp. At r = 100 the value is 10 and looks right; backward multiplies the clamp's 0 by "
        "e^100, which is infinite in float32: NaN."
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
        Case("ordinary values", _drawn(300), "Begin here: 300 log-probabilities, r from -9.9 to 9.9. " + STEP_BY_STEP),
        Case(AGAIN, _drawn(300), KEEP_NOTHING),
        Case(
            "r from 3 to 10,000",
            _ratios(3.0, 12.0, 50.0, 88.0, 89.0, 100.0, 1e3, 1e4),
            "k3 is above the cap: the result is 10, and its gradient is 0. Which factors does backward multiply here, "
            "and is one of them e^100?",
        ),
        Case(
            "r from -10.9 to -10.1",
            _ratios(-10.875, -10.75, -10.5, -10.25, -10.125),
            "k3 is below the cap here: 9.1 to 9.9, with a slope. What bounds r must not change what is below the cap.",
        ),
        Case(
            "r from -10,000 to -11.5",
            _ratios(-11.5, -20.0, -88.0, -104.0, -1e3, -1e4),
            "k3 is -1 - r here, above the cap: 10, with a gradient of 0.",
        ),
        Case(
            "r near 0",
            _ratios(0.0, 0.5, -0.5, 0.125, -0.125, 1.0, -1.0, 2.5),
            "Nothing is capped: k3, and its own gradient.",
        ),
        Case("one element", _drawn(1), "One element."),
        Case("no dimensions", _drawn(), "logp.shape may be ()."),
        Case("no elements", _drawn(0), "An empty tensor goes in, an empty tensor comes out, attached to the graph."),
        Case("transposed", _drawn(37, 53, view=transposed), "Transposed matrices: any strides will do."),
    ),
    tolerance=Tolerance(1, 8, "e^r - 1 - r in float32 as it stands: r and each of its terms are rounded.", floor),
    hint="Return kl alone; the check takes its gradient. Bound r before exp, where the cap has been passed already.",
    backends=("torch",),
    refused=frozenset({"kl_div"}),
    wild=(AFTER, TEN),
    points=2,
    gradient_of="logp",
    about=("r from 3 to 10,000", "r from -10.9 to -10.1"),
)
