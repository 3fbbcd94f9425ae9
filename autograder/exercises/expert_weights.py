"""The weights of the experts that a router chose. Cases: sglang#30989, flashinfer#3803, #3875 and #3946."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from ...kernels.wild import expert_weights as wild
from ..judge import (
    Arguments,
    Category,
    CommonMistake,
    Exercise,
    Floors,
    Output,
    Tolerance,
    WildBug,
    Witness,
    also,
    case,
    draw,
)
from .cases.halves import in_halves
from .cases.places import NONE, bad_places, checked, distinct, some_absent
from .cases.rounding import EPS, floors, walk
from .cases.suspect import first, suspect
from .cases.wording import AGAIN, BEYOND, BEYOND_HINT, CONVERT, KEEP_NOTHING, STEP_BY_STEP

NAN = float("nan")
UNDERFLOW = 1.2e-38


def log_sigma(logits: Tensor, experts: Tensor) -> Tensor:
    """log σ(x) of the chosen logits; -inf at a place without an expert."""
    there = experts != NONE
    return F.logsigmoid(logits.gather(1, experts.where(there, 0))).masked_fill(~there, -torch.inf)


def share(logits: Tensor, experts: Tensor) -> Tensor:
    """The softmax of log σ over the places of each token that have an expert, 0 elsewhere."""
    there = experts != NONE
    alone = torch.zeros(len(experts), 1, dtype=logits.dtype).masked_fill(there.any(1, keepdim=True), -torch.inf)
    return torch.cat([log_sigma(logits, experts), alone], 1).softmax(1)[:, :-1].masked_fill(~there, 0)


def weights_of_experts(logits: Tensor, experts: Tensor, scale: float = 1.0) -> Tensor:
    """scale · σ(x_i) / Σ_j σ(x_j) over the experts of a token, (T, k)."""
    checked(experts, logits.shape[1], "expert")
    return scale * share(logits, experts)


def weights_gradient(dweights: Tensor, logits: Tensor, experts: Tensor, weights: Tensor, scale: float = 1.0) -> Tensor:
    """σ(-x_i) · w_i · (dw_i - Σ_j w_j dw_j / scale) at the experts of a token, of the weights given; 0 elsewhere."""
    there = experts != NONE
    w, dw = weights.masked_fill(~there, 0), dweights.masked_fill(~there, 0)
    return _scattered(w * (dw - (w * dw).sum(1, keepdim=True) / scale), logits, experts)


def _scattered(slope: Tensor, logits: Tensor, experts: Tensor) -> Tensor:
    """slope · σ(-x) at the experts of a token, 0 elsewhere, like logits."""
    there = experts != NONE
    column = experts.where(there, 0)
    dx = (slope * torch.sigmoid(-logits.gather(1, column))).masked_fill(~there, 0)
    return torch.zeros_like(logits).scatter_add(1, column, dx)


def _depth(logits: Tensor, experts: Tensor) -> Tensor:
    """Returns how far below the largest of its token each log σ is."""
    log_s = log_sigma(logits, experts)
    if not log_s.numel():
        return log_s
    return (log_s.amax(1, keepdim=True) - log_s).nan_to_num(nan=0, posinf=0)


def forward_floor(logits: Tensor, experts: Tensor, scale: float = 1.0) -> Floors:
    """log σ of 8 to 17 below 0 is off by half an ulp of 16 where it is rounded, 4 ulp of the weight, in σ and in the
    sum; e^(log σ - top) loses as many roundings as its exponent is large. Below 1.2e-38 some machines give 0.
    """
    p, depth = share(logits, experts), _depth(logits, experts)
    mean = (p * depth).nansum(1, keepdim=True)
    return floors(scale * (EPS * p * (8 + walk(experts.shape[1]) / 2 + depth + mean) + UNDERFLOW))


def backward_floor(dweights: Tensor, logits: Tensor, experts: Tensor, weights: Tensor, scale: float = 1.0) -> Floors:
    """dw - Σ w dw / scale cancels, and the weights may be taken anew, each to 16 ulp and as many as log σ is deep."""
    there = experts != NONE
    w, dw = weights.masked_fill(~there, 0), dweights.masked_fill(~there, 0).abs()
    inner = (w * dw).sum(1, keepdim=True) / scale
    depth = _depth(logits, experts)
    lost = (dw + inner) * (20 + walk(experts.shape[1]) + depth + (w * depth).nansum(1, keepdim=True) / scale)
    return floors(_scattered(EPS * w * lost + scale * UNDERFLOW * (dw + inner), logits, experts) + UNDERFLOW * inner)


def routed(t: int, e: int, k: int, at: float = 0.0, scale: float = 1.0) -> Arguments:
    """Logits around ``at``, and for each token k experts of e."""
    return Arguments.named(logits=draw.normal(t, e).scale(scale).plus(at), experts=distinct(t, k, e))


def deep(*rows: tuple[float, ...]) -> Arguments:
    """These logits of four experts, all of them chosen, in an order that each token draws."""
    return Arguments.named(logits=draw.tensor(rows), experts=distinct(len(rows), 4, 4))


def nan_where_not_chosen(logits: Tensor, experts: Tensor) -> None:
    """Every logit of an expert that its token has not chosen is NaN."""
    token, place = (experts != NONE).nonzero(as_tuple=True)
    chosen = torch.zeros(logits.shape, dtype=torch.bool)
    chosen[token, experts[token, place]] = True
    logits[~chosen] = NAN


def nan_where_chosen(logits: Tensor, experts: Tensor) -> None:
    """The logit of the second place of token 2, and that of a place of token 4 which is then without an expert."""
    logits[2, experts[2, 1]] = NAN
    logits[4, experts[4, 0]] = NAN
    experts[4, 0], experts[2, 0] = NONE, NONE


def nan_where_absent(dweights: Tensor, experts: Tensor, weights: Tensor) -> None:
    """dweights and weights of every place without an expert are NaN."""
    dweights[experts == NONE] = NAN
    weights[experts == NONE] = NAN


def first_and_last(experts: Tensor) -> None:
    """Each token has the first of 16 experts and the last, and each of them a place of -1 before it or behind it."""
    experts[:] = torch.tensor([0, NONE, 15, NONE])
    experts[1::2] = experts[1::2].flip(1)


NOTHING_LEFT = (
    "Every σ(x) of the token is 0 in float32, or has few digits left, and their ratios are ordinary numbers. Which "
    "number can all of them be divided by before they are made?"
)
SINKING = "below 1e-20, -60", "subnormal, -95", "zero, -200"
ABSENT = draw.same.change(some_absent)
CASES = (
    case("ordinary values", f"Begin here: 7 tokens, 4 of 16 experts. {STEP_BY_STEP}", routed(7, 16, 4)),
    case(AGAIN, KEEP_NOTHING, routed(7, 16, 4)),
    case("scale = 2.5", "scale is 2.5: the weights of a token add up to it.", routed(9, 16, 4), scale=2.5),
    case(
        "8 of 256",
        "8 of 256 experts, for 40 tokens. Over which of the 256 is the sum, and does place j have the logit of expert "
        "experts[t, j]?",
        routed(40, 256, 8),
    ),
    case("300 tokens", "300 tokens, and a block holds fewer. Does every one get its weights?", routed(300, 64, 8)),
    case("1 place", "One expert a token: its weight is scale, whatever σ is.", routed(9, 12, 1), scale=1.5),
    case("3 places", "3 places in a block of 4: is the fourth in the sum?", routed(9, 12, 3)),
    case("all 17 experts", "Every expert is chosen, in any order: 17 places in a block of 32.", routed(9, 17, 17)),
    case("1 expert", "There is one expert.", routed(5, 1, 1)),
    case(
        "logits from 5 to 40",
        "σ is nearly 1, and 1 from 17 on, so the weights are nearly equal. A softmax of x is another matter. Backward "
        "has the factor 1 - σ(x): what is left of it when σ has been rounded to 1, and which σ is the same number?",
        Arguments.named(logits=draw.uniform(9, 24).scale(35).plus(5), experts=distinct(9, 6, 24)),
    ),
    case(
        "one far above the others",
        "One logit of the token is 0 and the others near -200: the weights are 1 and 0.",
        deep((0.0, -200.0, -190.0, -230.0), (-199.0, 0.5, -201.0, -300.0)),
    ),
    case(
        "small, -12",
        "σ is about 6e-6: small, and no trouble to float32. Has a larger number been added to it and taken away again?",
        routed(40, 64, 8, -12.0),
    ),
    case(
        f"σ {SINKING[0]}", f"Logits around -60. {NOTHING_LEFT} 1e-20 is larger than the sum.", routed(9, 32, 6, -60.0)
    ),
    case(f"σ {SINKING[1]}", f"Logits around -95. {NOTHING_LEFT}", routed(9, 32, 6, -95.0)),
    case(f"σ {SINKING[2]}", f"Logits around -200. {NOTHING_LEFT}", routed(9, 32, 6, -200.0, 2.0)),
    case(
        "logits near -10,000",
        f"{NOTHING_LEFT} In rows 2 and 3 the distance itself is large.",
        deep(
            (-9990.0, -9991.0, -9990.5, -9993.0),
            (-1e4, -9999.0, -9998.0, -9998.5),
            (-1e4, -5e3, -5e3, -9e3),
            (-300.0, 1e4, 9e3, -1e4),
        ),
    ),
    case(
        "places without an expert",
        "-1 is a place without an expert: its weight is 0, it is not in the sum, and it is no index of a logit. Token "
        "4 has no expert at all, and its weights are 0, not 0 / 0.",
        routed(6, 16, 4).but(experts=ABSENT),
        category=Category.EDGES,
    ),
    case(
        "places without an expert, -10,000",
        "Logits around -9990, and places of -1. Is what stands for log σ of such a place below all that there can be?",
        routed(6, 16, 4, -9990.0).but(experts=ABSENT),
        category=Category.EDGES,
    ),
    case(
        "experts 0 and 15, and places without one",
        "Each token has experts 0 and 15, and two places of -1. A place of -1 that is made 0 or 15, to have an index, "
        "leaves a trace there: it is added to the sum, or its 0 is stored over the gradient of that expert.",
        routed(6, 16, 4).but(experts=draw.same.change(first_and_last)),
        category=Category.EDGES,
    ),
    case(
        "no expert anywhere",
        "Every place is -1: zeros.",
        routed(5, 16, 4).but(experts=draw.full(5, 4, value=NONE)),
        category=Category.EDGES,
    ),
    case(
        "NaN in one chosen logit",
        "Token 2 has a NaN among its chosen logits: NaN in each of its weights but at its place of -1, which is 0. "
        "Token 4 has one that it has not chosen. (In Triton, tl.max and tl.maximum drop NaN.)",
        routed(6, 16, 4).change(nan_where_chosen),
    ),
    case(
        "NaN in every other logit",
        "All logits that no token has chosen are NaN, and matter to none. Some places have no expert: -1 is not 0, and "
        "the logit of expert 0 is not theirs.",
        routed(6, 16, 4).but(experts=ABSENT).change(nan_where_not_chosen),
    ),
    case("no tokens", "No tokens go in, no weights come out.", routed(0, 16, 4)),
    case("no places", "k is 0: no token has an expert, and no logit has a gradient.", routed(5, 16, 0)),
    *in_halves("{}", f"{CONVERT} σ(-12) in half precision has few digits.", routed(40, 64, 8, -8.0, 2.0), "logits"),
    case(
        "logits transposed",
        "Transposed: the logits of a token are not neighbours in memory.",
        routed(37, 53, 5).but(logits=draw.same.transposed()),
    ),
    case(
        "logits with gaps",
        "bfloat16; the rows of logits are 33 longer in memory, NaN between them.",
        routed(9, 40, 5).but(logits=draw.same.to(torch.bfloat16).with_gaps()),
    ),
    case(
        "logits in every second column",
        "The stride of the last dimension of logits is 2.",
        routed(9, 40, 5).but(logits=draw.same.every_second()),
    ),
    case(
        "one row of logits for all, at stride 0",
        "Every token has the same logits and experts of its own: logits.stride() is (0, 1).",
        routed(9, 40, 5).but(logits=draw.same.one_row()),
    ),
    case(BEYOND, BEYOND_HINT, routed(3, 40, 5).but(logits=draw.same.to(torch.bfloat16).far_apart())),
)
BAD = bad_places("experts", routed(6, 16, 4), 16, routed(700, 16, 4), 16)
DWEIGHTS = draw.without_zeros(like="weights")
SMALL = routed(29, 40, 6)
UPSTREAM = (
    case(
        "dweights with zeros",
        "Some of dweights are exactly 0. What of the sum over the places is left where dw is 0?",
        SMALL,
        dweights=draw.gradient(like="weights"),
    ),
    case(
        "dweights of stride 0",
        "What .sum() hands back: one number for all places. The weights of a token add up to scale whatever the logits "
        "are, so little but rounding is left.",
        SMALL,
        dweights=DWEIGHTS.one_number(),
    ),
    case("dweights transposed", "dweights is transposed, and nothing else is.", SMALL, dweights=DWEIGHTS.transposed()),
    case(
        "dweights with gaps",
        "The rows of dweights are 33 longer in memory, NaN between them.",
        SMALL,
        dweights=DWEIGHTS.with_gaps(),
    ),
    case(
        "tiny dweights",
        "dweights is about 1e-8: what comes out is as small. Is anything compared with a constant?",
        SMALL,
        dweights=DWEIGHTS.scale(1e-8),
    ),
    case(
        "NaN in dweights",
        "NaN in gives NaN out, for the experts of its own token, and 0 for all others.",
        SMALL,
        dweights=DWEIGHTS.put(NAN, 3, 2),
    ),
    case(
        "NaN at places without an expert",
        "dweights and weights of a place of -1 are NaN: they leave no trace. 0 · NaN is NaN.",
        routed(6, 16, 4).but(experts=ABSENT, dweights=DWEIGHTS).change(nan_where_absent),
    ),
)

GLM = "sgl-project/sglang#30989, flashinfer-ai/flashinfer#3875"
UNDONE = WildBug(
    who="flashinfer before July 2026",
    thread=GLM,
    function=wild.weights_undone,
    seen_by="small, -12",
    story="It kept σ + bias alone, and took the bias away again. Of a σ that is small beside 11.3 little comes back, "
    "or nothing: 0 / 0.",
)
UNDONE_WITH_EPSILON = WildBug(
    who="flashinfer with the first cure, 1e-20 under the division",
    thread="flashinfer-ai/flashinfer#3803, #3875",
    function=wild.weights_undone_with_epsilon,
    seen_by="small, -12",
    story="0 / 1e-20 is no NaN. It is 0 for every expert, and nothing says so.",
)
FROM_TANH = WildBug(
    who="flashinfer's sigmoid, tanh(x / 2) / 2 + 1/2,",
    thread="flashinfer-ai/flashinfer#3946",
    function=wild.weights_from_tanh,
    seen_by="small, -12",
    story="tanh of -6 is next to -1, and 1/2 - 1/2 leaves few digits of σ(-12); below -18 it leaves none.",
)
GATHERED_WITH_EPSILON = WildBug(
    who="DeepSeek-V3's gate, σ over its sum + 1e-20,",
    thread="deepseek-ai/DeepSeek-V3, modeling_deepseek.py",
    function=wild.weights_gathered_with_epsilon,
    seen_by=f"σ {SINKING[0]}",
    story="Where the sum of σ is near 1e-20 or below, the weights no longer add up to scale.",
)
GATHERED = CommonMistake(
    who="weights computed from σ itself, which underflows",
    function=wild.weights_gathered,
    seen_by=f"σ {SINKING[2]}",
    story="The right cure for the bug. Where every chosen σ is 0 in float32, from -88.8 on if it is 1 / (1 + e^-x), "
    "0 / 0 or the logarithm of 0 is left.",
)
OF_LOGITS = CommonMistake(
    who="a softmax of x where that of log σ(x) is asked for",
    function=wild.softmax_of_logits,
    seen_by="ordinary values",
    story="e^x and σ(x) have the same ratios only where every x is far below 0.",
)
OVER_ALL = CommonMistake(
    who="σ over the sum of all experts",
    function=wild.over_all_experts,
    seen_by="ordinary values",
    story="The sum is over the experts that were chosen: their weights add up to scale.",
)
COUNTED = CommonMistake(
    who="-1 as an index",
    function=wild.absent_counted,
    seen_by="places without an expert",
    story="-1 is the last expert in Python. It gets a weight, and the others get less.",
)
UNSCALED = CommonMistake(
    who="weights that add up to 1 whatever scale is",
    function=wild.without_scale,
    seen_by="scale = 2.5",
    story="scale is forgotten.",
)

expert_weights_forward = Exercise(
    name="expert_weights_forward",
    summary="scale · σ(x_i) / Σ_j σ(x_j) over the experts of a token, x their logits; -1 is no expert: 0",
    oracle=weights_of_experts,
    outputs=(Output("weights", torch.float32),),
    cases=(*CASES, *BAD),
    tolerance=Tolerance(
        8,
        8,
        "A weight is to be good to 16 ulp: log σ between 8 and 17 below 0 is rounded to half an ulp of 16, twice. e^d "
        "loses |d| roundings, d the distance from the largest log σ of the token.",
        forward_floor,
    ),
    hint="A softmax does not change when a number is added to all of it. Of which numbers is this one a softmax?",
    allowed=frozenset({"_local_scalar_dense"}),
    wild=(
        UNDONE,
        UNDONE_WITH_EPSILON,
        FROM_TANH,
        GATHERED_WITH_EPSILON,
        GATHERED,
        OF_LOGITS,
        OVER_ALL,
        COUNTED,
        UNSCALED,
    ),
    points=4,
    # Only the logits of the chosen experts; experts may be read twice, to see first whether all of them are.
    least_bytes=lambda logits, experts, scale=1.0: experts.numel() * (12 + logits.element_size()),
    traffic=1.6,
    about=("small, -12", *(f"σ {depth}" for depth in SINKING), "logits near -10,000"),
)

ONE_MINUS = CommonMistake(
    who="1 - σ(x) as it stands",
    function=wild.backward_one_minus_sigma,
    seen_by="logits from 5 to 40",
    story="σ(20) is rounded next to 1, and 1 - 1 leaves nothing of e^-20. σ(-20) is the same number with all digits.",
)
OF_A_SOFTMAX = CommonMistake(
    who="the gradient of a softmax of x",
    function=wild.backward_of_a_softmax,
    seen_by="ordinary values",
    story="The weights are a softmax of log σ(x), and the derivative of log σ, 1 - σ, is left out.",
)
ALONE = CommonMistake(
    who="dw · w · (1 - σ)",
    function=wild.backward_without_the_sum,
    seen_by="ordinary values",
    story="Each weight hangs on the logits of all chosen experts, by their sum.",
)

expert_weights_backward = Exercise(
    name="expert_weights_backward",
    summary="dlogits at an expert of the token: σ(-x_i) · w_i · (dw_i - Σ_j w_j dw_j / scale), elsewhere exactly 0",
    oracle=weights_gradient,
    outputs=(Output("dlogits", "logits"),),
    cases=(*also(CASES, dweights=DWEIGHTS), *UPSTREAM),
    tolerance=Tolerance(
        1,
        8,
        "dw - Σ w dw / scale cancels: of neither more than its own digits are left, and the weights may be taken anew.",
        backward_floor,
    ),
    hint="The gradient of a softmax of log σ, times the derivative of log σ(x), which is σ(-x).",
    refused=frozenset({"autograd"}),
    wild=(ONE_MINUS, OF_A_SOFTMAX, ALONE),
    points=3,
    least_bytes=lambda dweights, logits, experts, weights, scale=1.0: (
        logits.numel() * logits.element_size() + experts.numel() * (16 + logits.element_size())
    ),
    traffic=1.5,
    forward=expert_weights_forward,
    about=("logits from 5 to 40", f"σ {SINKING[2]}", "logits near -10,000"),
)


def router_weights(logits: Tensor, bias: Tensor, k: int = 8) -> Tensor:
    """σ(x) / Σ σ(x), (T, k) float32, for the k experts of largest float32 σ(x) + bias. logits: (T, E), bias: (E,)."""
    _, experts = (logits.float().sigmoid() + bias.float()).topk(k, 1)
    return share(logits, experts)


def _no_router(logits: Tensor, bias: Tensor, k: int = 8) -> str:
    shaped = logits.dim() == 2 and logits.numel() > 0 and bias.shape == logits.shape[1:]
    if message := first(
        (shaped, "logits are a matrix (T, E) with elements, and bias is (E,)."),
        (bias.dtype == torch.float32, "bias is float32."),
        (not shaped or 2 <= k <= logits.shape[1], "k is 2 or more, and at most the number of experts."),
        (all(bool((t.double().abs() <= 1e4).all()) for t in (logits, bias)), "Numbers lie between -10,000 and 10,000."),
    ):
        return message
    weights = wild.router_undone(logits, bias, k)
    if not weights.isfinite().all():
        return "The router's weights are NaN or infinite on this input: anybody would see that."
    return "" if bool(weights.all()) else "A weight of the router is 0 on this input: find one on which none is."


expert_witness = Witness(
    name="expert_witness",
    summary="(logits, bias, k) on which a weight got back as (σ + bias) - bias is off by more than 5 %, and none is 0",
    exercise=Exercise(
        name="router_weights",
        summary="the weights of the k experts of largest σ(x) + bias: σ(x) over its sum",
        oracle=router_weights,
        outputs=(Output("weights", torch.float32),),
        cases=(),
        tolerance=Tolerance(
            0,
            0,
            "A twentieth of the right weight.",
            lambda logits, bias, k=8: (0.05 * router_weights(logits, bias, k),),
        ),
        hint="",
    ),
    bug=WildBug(
        who="a router that gets σ back as (σ + bias) - bias",
        thread=GLM,
        function=wild.router_undone,
        seen_by="",
        story="It kept σ + bias alone, to rank the experts by, and took the bias away again.",
    ),
    hint="An ulp of the bias is all that σ can be told apart by. How many of them should a σ be, so that none is lost "
    "and each is off by much?",
    asked="5 %",
    complaint=_no_router,
    most=65_536,
)


def best_expert(logits: Tensor, bias: Tensor) -> Tensor:
    """(T,) int64: the expert of largest σ(x) + bias for each token, no tie. logits: (T, E), bias: (E,) float32."""
    return (logits.sigmoid() + bias).argmax(1)


def _no_best(logits: Tensor, bias: Tensor) -> str:
    shaped = logits.dim() == 2 and len(logits) > 0 and logits.shape[1] > 1 and bias.shape == logits.shape[1:]
    if message := first(
        (shaped, "logits are a matrix (T, E) of at least two experts, and bias is (E,)."),
        (logits.dtype == bias.dtype == torch.float32, "logits and bias are float32."),
        (all(bool((t.double().abs() <= 1e4).all()) for t in (logits, bias)), "Numbers lie between -10,000 and 10,000."),
    ):
        return message
    keys = (logits.double().sigmoid() + bias.double()).sort(1, descending=True).values
    apart = (keys[:, 0] - keys[:, 1]) > 4 * EPS * keys.abs().amax(1)
    return "" if bool(apart.all()) else "Two experts tie in float32: then either choice is right."


bias_witness = replace(
    suspect(
        best_expert,
        torch.int64,
        wild.best_expert_of_rounded_bias,
        thread="sgl-project/sglang#37133",
        story="SGLang rounded the biases to bfloat16 on AMD's GPUs. Of GLM-5.2's 238 biases 8 were left, and most "
        "tokens got other experts.",
        apart=lambda logits, bias: 0.0,
        asked="0: a wrong expert",
        complaint=_no_best,
        hint="How far apart are two neighbours of bfloat16 near your biases?",
        who="the kernel",
    ),
    name="bias_witness",
    summary="(logits, bias) on which the kernel picks a wrong expert",
)
