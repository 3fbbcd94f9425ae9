"""The estimator k3 of a KL divergence (Schulman 2020, "Approximating KL Divergence"), its gradient, and the same with a
cap. Cases: OpenRLHF#1160 and #1335 (exp first, clamp after), and e^r - 1 - r near r = 0.
"""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Generator, Tensor

from ...kernels.wild import kl as wild
from ..judge import (
    HALVES,
    Arguments,
    Case,
    Category,
    CommonMistake,
    Exercise,
    Floors,
    Output,
    Tolerance,
    Values,
    WildBug,
    also,
    case,
    draw,
)
from ..runner import Args, dtype_name
from .cases.elementwise import elementwise
from .cases.rounding import EPS

INF, NAN = float("inf"), float("nan")
UNDERFLOW = 2.4e-38  # some machines make 0 of what is below 1.2e-38
OVERFLOWS = 88.73  # e^r, in float32
NEAR = 2.0**-7  # up to this |r| every digit is asked for; a formula that switches to e^r - 1 does so further out
CAP = 10.0


def log_ratio(logp: Tensor, ref: Tensor) -> Tensor:
    """r = ref - logp; 0 where both are -inf."""
    both = (logp == -INF) & (ref == -INF)
    return ref.masked_fill(both, 0.0) - logp.masked_fill(both, 0.0)


def remainder(r: Tensor) -> Tensor:
    """(e^r - 1 - r) / r² for |r| < 1, by its series 1/2! + r/3! + r²/4! + ..."""
    total = torch.ones_like(r)
    for k in range(20, 2, -1):
        total = 1 + r / k * total
    return total / 2


def k3(logp: Tensor, ref: Tensor) -> Tensor:
    """e^r - 1 - r; inf at both infinities of r."""
    r = log_ratio(logp, ref)
    near = r.abs() < 1
    small, far = r.where(near, 0.0), r.masked_fill(near, 0.0)
    linear = (1 + far).masked_fill(far > 45, 0.0)  # no digit of e^r, and inf - inf at infinity
    return (small * small * remainder(small)).where(near, far.exp() - linear)


def k3_gradient(dkl: Tensor, logp: Tensor, ref: Tensor) -> Tensor:
    """-dkl (e^r - 1); 0 where dkl is 0."""
    return (-dkl * torch.expm1(log_ratio(logp, ref))).masked_fill(dkl == 0, 0.0)


def forward_floor(logp: Tensor, ref: Tensor) -> Floors:
    """r is rounded, and so is the argument of 2^(r · log2 e): |r| roundings of e^r each. From `NEAR` on e^r - 1 may be
    rounded before r is taken from it.
    """
    r = log_ratio(logp, ref).abs()
    slope = torch.expm1(log_ratio(logp, ref)).abs()
    return _judged(logp, ref, EPS * slope * (2 * r + 2 * (r >= NEAR)) + UNDERFLOW)


def forward_distinction(logp: Tensor, ref: Tensor) -> Floors:
    """The rounding of r, and of r · log2 e, which no float32 code avoids."""
    r = log_ratio(logp, ref)
    return _judged(logp, ref, 2 * EPS * (r * torch.expm1(r)).abs())


def backward_floor(dkl: Tensor, logp: Tensor, ref: Tensor) -> Floors:
    """r is rounded, and so is r · log2 e. From `NEAR` on e^r may be rounded before 1 is taken from it; and e^r - 1 may
    be a product, 2 e^(r/2) sinh(r/2), of which each factor is rounded.
    """
    r = log_ratio(logp, ref)
    lost = r.exp() * (2 * r.abs() + 2 * (r.abs() >= NEAR)) + 2 * torch.expm1(r).abs()
    lost = EPS * dkl.abs() * lost
    return _judged_gradient(dkl, logp, ref, lost + UNDERFLOW)


def backward_distinction(dkl: Tensor, logp: Tensor, ref: Tensor) -> Floors:
    """Returns what the rounding of r and of r · log2 e costs."""
    r = log_ratio(logp, ref)
    return _judged_gradient(dkl, logp, ref, 2 * EPS * dkl.abs() * r.exp() * r.abs())


def _judged(logp: Tensor, ref: Tensor, lost: Tensor) -> tuple[Tensor]:
    """A tolerance of this size, 0 where r is infinite or float32 has no e^r, and none where +inf comes in, which no
    log-probability is.
    """
    r = log_ratio(logp, ref)
    beyond = r.isinf() | ~(r < OVERFLOWS)
    return (lost.masked_fill(beyond, 0.0).masked_fill((logp == INF) | (ref == INF), INF),)


def _judged_gradient(dkl: Tensor, logp: Tensor, ref: Tensor, lost: Tensor) -> Floors:
    """The same, and none where it is open what 0 · NaN is, or where e^r overflows and its product with dkl does not."""
    (tolerance,) = _judged(logp, ref, lost)
    r = log_ratio(logp, ref)
    undecided = (dkl == 0) & r.isnan() | (r > OVERFLOWS) & ((dkl * r.exp()).abs() <= torch.finfo(torch.float32).max)
    return (tolerance.masked_fill(undecided, INF),)


# r from 1e-15 to `NEAR`, and from there to 1, of both signs.
SMALL_RATIOS = draw.signs(300).scale(NEAR).times(draw.uniform(300).map(lambda u: 10.0 ** (-13 * u)))
RATIOS_BELOW_ONE = draw.signs(300).times(draw.uniform(300).map(lambda u: NEAR**u))


def apart(generator: Generator, logp: Tensor, ref: Tensor) -> None:
    """The same r with logp in place of ref, and some steps of float32 around -2.3."""
    logp[100:200], ref[100:200] = -ref[100:200], 0.0
    logp[200:], ref[200:] = -2.3, -2.3 + torch.randint(-30_000, 30_000, (100,), generator=generator) * 2.0**-22


def listed(*rows: tuple[float, float], dtype: torch.dtype = torch.float32) -> Arguments:
    """logp and ref from pairs of numbers."""
    logp, ref = zip(*rows, strict=True)
    return Arguments.named(logp=draw.tensor(logp, dtype), ref=draw.tensor(ref, dtype))


NEAR_ZERO = Arguments.named(logp=draw.full(300, value=0.0), ref=SMALL_RATIOS).change(apart)
BELOW_ONE = Arguments.named(logp=draw.full(300, value=0.0), ref=RATIOS_BELOW_ONE)
OVERFLOWING = listed(
    *((0.0, r) for r in (80.0, 87.0, 88.0, 89.0, 100.0, 1e3, 1e4, -80.0, -88.0, -89.0, -104.0, -1e3, -1e4)),
    *((-1e4, 1e4), (1e4, -1e4), (-50.0, 50.0), (-3.0, 86.0)),
)
IMPOSSIBLE = ((-INF, -INF), (-1.5, -0.5), (-INF, -INF), (-2.0, -2.0), (-INF, -INF))
ONE_ALONE = ((-INF, -1.0), (-1.0, -INF), (-0.25, -0.5), (-INF, 0.0), (-30.0, -INF))
TWELVE = ((-12.0, 0.0), (0.0, -12.0), (-30.0, -20.0), (-0.3, -7.1), (-0.1, -2.3), (-3.7, -0.9), (-12.0, 0.0))
NO_NUMBER = ((NAN, -1.0), (-1.0, NAN), (NAN, NAN), (NAN, -INF), (-INF, NAN), (-1.0, -1.5))

PAIRS = (
    case(
        "near r = 0",
        "|r| is from 1e-15 to 0.008, and the result is r²/2 forward and r times the upstream gradient backward, with "
        "all their digits. What does e^r keep of r when it is rounded next to 1, and expm1(r) of r² when r is taken "
        "away? Of a series the first missing term has to be below half an ulp where you switch.",
        NEAR_ZERO,
    ),
    case(
        "r from 0.008 to 1",
        "|r| is from 0.008 to 1, where a series ends and the formula begins. The first term that the series leaves "
        "out, r^5/120 after r^4/24, has to be below half an ulp of r²/2 at the |r| where you switch.",
        BELOW_ONE,
    ),
    case(
        "large r",
        "r up to ±20,000. e^r overflows from 88.7 on and the result is infinite; at r = -20,000 nothing overflows. Is "
        "anything clamped, or multiplied by a 0 that stands beside an infinity?",
        OVERFLOWING,
    ),
    case(
        "both -inf",
        "A token that is impossible for both models: no difference between them, and the result is 0. -inf - -inf is "
        "NaN.",
        listed(*IMPOSSIBLE),
    ),
    case(
        "both -inf, bfloat16",
        "bfloat16, and impossible for both models: the result is 0. -inf - -inf is NaN.",
        listed(*IMPOSSIBLE, dtype=torch.bfloat16),
    ),
    case(
        "one of the two is -inf",
        "r is +inf or -inf. e^r - 1 - r is infinite on both sides, and inf - inf is NaN; the gradient is -dkl (e^r - "
        "1), infinite on one side and dkl on the other.",
        listed(*ONE_ALONE),
    ),
    case("NaN", "NaN in one of the two gives NaN, also beside -inf.", listed(*NO_NUMBER)),
    case(
        "float16, r = 12",
        "float16 ends at 65,504 and e^12 is 162,755. Compute in float32: what does not fit is infinite in the result "
        "and nowhere before.",
        listed(*TWELVE, dtype=torch.float16),
    ),
    case(
        "ref of stride 0",
        "One number for the whole of ref: ref.stride() is (0, 0). Each tensor has strides of its own.",
        logp=draw.uniform(29, 67).plus(-3.0),
        ref=draw.uniform(29, 67).one_number(),
    ),
    case(
        "logp of stride 0",
        "One number for the whole of logp: logp.stride() is (0, 0). Each tensor has strides of its own.",
        logp=draw.uniform(29, 67).plus(-3.0).one_number(),
        ref=draw.uniform(29, 67).plus(1.0),
    ),
    case(
        "ref transposed",
        "ref is transposed, and nothing else is: each tensor has strides of its own.",
        logp=draw.uniform(37, 53).plus(-3.0),
        ref=draw.uniform(37, 53).transposed(),
    ),
    case(
        "ref with gaps",
        "The rows of ref are 86 apart, those of nothing else: each tensor has strides of its own.",
        logp=draw.uniform(37, 53).plus(-3.0),
        ref=draw.uniform(37, 53).with_gaps(),
    ),
)
TINY = case(
    "distinction: r down to 1e-22",
    "r²/2 is a subnormal number here: how often is it rounded?",
    logp=draw.full(200, value=0.0),
    ref=draw.uniform(200).map(lambda x: 10.0 ** (-22 + 4 * x)),
    bonus=True,
)
LEFT_OUT = {  # of the family: what is said there of an upstream gradient, and what PAIRS and SWEEPS do better
    *("logp of stride 0", "tiny ref", "NaN in ref", "distinction: the tail"),
    *("every float16 value", "every bfloat16 value"),
}


def sweeps(family: dict[str, Case]) -> Iterator[Case]:
    """The cases of every value of a half format, with 0 and with -2 as ref."""
    for dtype in HALVES:
        whole = family[f"every {dtype_name(dtype)} value"]
        for other in (0.0, -2.0):
            inputs = Arguments.named(logp=draw.every_value(dtype), ref=draw.full(2**16, value=other).to(dtype))
            hint = f"{whole.hint} ref is {other:g} everywhere: r = ref - logp is a float32."
            # Without a picture over logp: beyond float16 the tolerance of e^r is no number to draw.
            yield replace(whole, name=f"{whole.name}, ref = {other:g}", hint=hint, inputs=inputs, swept="")


def clear(generator: Generator, *tensors: Tensor) -> Args:
    """The same with logp a unit further from ref where |r| < 1: what cancels there, and a series, are the point of two
    cases, and in others no matter of the seed.
    """
    *upstream, logp, ref = tensors
    close = (ref.double() - logp.double()).abs() < 1
    logp += torch.where(logp < ref, -1, 1).where(close, 0)  # in place: it lies as it was laid out
    return *upstream, logp, ref


def cases(parameters: tuple[str, ...], **upstream: Values) -> tuple[Case, ...]:
    """Those of the elementwise family, and the pairs of this chapter. upstream: what a gradient takes beside a pair."""
    family = {case.name: case for case in elementwise(parameters, "logp", lambda: torch.zeros(1), arguments=clear)}
    usual = [case for name, case in family.items() if name not in LEFT_OUT and not case.bonus]
    distinctions = [case for name, case in family.items() if name not in LEFT_OUT and case.bonus]
    first, (tiny,) = also(PAIRS, **upstream), also((TINY,), **upstream)
    return (*usual[:2], *first[:3], *usual[2:], *also(sweeps(family), **upstream), *first[3:], *distinctions, tiny)


REASON = (
    "r is rounded, and so is r · log2 e where e^r is made of it: |r| roundings of e^r each. Near 0 nothing may cancel, "
    "and the result has its digits; from |r| = 0.008 on e^r - 1 may be rounded before something is taken from it."
)
FORMULA = WildBug(
    who="trl 1.16.0 and Liger-Kernel 0.8.5, e^r - r - 1 as it stands,",
    thread="trl/trainer/grpo_trainer.py; liger_kernel/ops/grpo_loss.py",
    function=wild.kl_formula,
    seen_by="near r = 0",
    story="Next to 1, e^r keeps of r what float32 has room for. At r = 1e-4 not one digit of r²/2 is left.",
    variants=(wild.kl_formula_reordered,),
)
FORMULA_GRADIENT = CommonMistake(
    who="e^r - 1, which is what autograd makes of e^r - r - 1,",
    function=wild.kl_backward_formula,
    seen_by="near r = 0",
    story="Next to 1, e^r keeps of r what float32 has room for: at r = 1e-3 the gradient is off by hundreds of ulp.",
)
EXPM1 = CommonMistake(
    who="expm1(r) - r",
    function=wild.kl_expm1,
    seen_by="near r = 0",
    story="expm1(r) has all its digits, and they are those of r: taking r away leaves few of r²/2.",
)

kl_forward = Exercise(
    name="kl_forward",
    summary="kl = e^r - 1 - r, r = ref - logp; 0 where both are -inf",
    oracle=k3,
    outputs=(Output("kl", "logp"),),
    cases=cases(("logp", "ref")),
    tolerance=Tolerance(1, 8, REASON, forward_floor, forward_distinction),
    hint="Near r = 0 sum the series r²/2 + r³/6 + ..., elsewhere e^r - 1 - r; and ask where r itself is NaN.",
    refused=frozenset({"kl_div"}),
    wild=(FORMULA, EXPM1),
    points=3,
    least_bytes=lambda logp, ref: 3 * logp.numel() * logp.element_size(),
    traffic=1.05,
    about=("near r = 0", "r from 0.008 to 1", "large r"),
)

kl_backward = Exercise(
    name="kl_backward",
    summary="dlogp = -dkl (e^r - 1), r = ref - logp; 0 where both are -inf, and where dkl is 0",
    oracle=k3_gradient,
    outputs=(Output("dlogp", "logp"),),
    cases=(
        *cases(("dkl", "logp", "ref"), dkl=draw.without_zeros(like="logp")),
        case(
            "dkl is 0, and e^r overflows",
            "An upstream gradient of 0 is what a mask or a clamp hands back. The result is 0, whatever r is: a product "
            "with 0 does not do that where e^r is infinite.",
            logp=draw.tensor([-100.0, 100.0, -1e4, -89.0, -INF, -1.0, -INF, 1e4, -700.0, -3.0]),
            ref=draw.tensor([0.0, 0.0, 0.0, 0.0, -1.0, -INF, -INF, 0.0, 0.0, 0.0]),
            dkl=draw.tensor([0.0, 0.0, 0.0, -0.0, 0.0, 0.0, 0.0, 1.5, -0.5, 2.5]),
        ),
        case(
            "dkl is 0 everywhere",
            "An upstream gradient of zeros: the result is zeros too, and another tensor than dkl.",
            logp=draw.normal(40),
            ref=draw.normal(40),
            dkl=draw.full(40, value=0.0),
            category=Category.EDGES,
        ),
    ),
    tolerance=Tolerance(1, 8, REASON, backward_floor, backward_distinction),
    hint="e^r - 1 has a function that keeps its digits near 0. Then find the product of 0 and infinity.",
    refused=frozenset({"kl_div", "autograd"}),
    wild=(FORMULA_GRADIENT,),
    points=3,
    least_bytes=lambda dkl, logp, ref: 4 * logp.numel() * logp.element_size(),
    traffic=1.05,
    forward=kl_forward,
    about=("near r = 0", "dkl is 0, and e^r overflows"),
)
