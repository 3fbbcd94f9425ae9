"""The entropy of a softmax over the rows of a matrix of logits. Cases: trl#7221, and its two cures #7252 and #7224."""

import torch
from torch import Generator, Tensor

from ...kernels.wild import entropy as wild
from ..judge import HALVES, CommonMistake, Exercise, Floors, Output, Tolerance, Values, WildBug, also, case, draw
from ..runner import dtype_name
from .cases.rounding import EPS, floors, leaning_walk
from .cases.wording import AGAIN, BEYOND, BEYOND_HINT, CONVERT, KEEP_NOTHING, NAN_IN, STEP_BY_STEP

INF, NAN = float("inf"), float("nan")
UNDERFLOW = 1.2e-38


def depths(logits: Tensor) -> tuple[Tensor, Tensor]:
    """(d, top): d = z - top, top the largest logit of each row, (M, 1), or 0 where all are -inf."""
    top = logits.amax(1, keepdim=True)
    top = top.masked_fill(top == -INF, 0.0)
    return logits - top, top


def entropy_and_lse(logits: Tensor) -> tuple[Tensor, Tensor]:
    """H = log Σ e^d - Σ e^d d / Σ e^d, in which no term has another sign, and lse = top + log Σ e^d."""
    d, top = depths(logits)
    e = d.exp()
    total = e.sum(1)
    nothing = total == 0
    log_total = total.masked_fill(nothing, 1.0).log()
    mean = (e * d.masked_fill(d == -INF, 0.0)).sum(1) / total.masked_fill(nothing, 1.0)
    lse = (top.squeeze(1) + log_total).masked_fill(nothing, -INF)
    return (log_total - mean).masked_fill(nothing, 0.0), lse


def entropy_gradient(dentropy: Tensor, logits: Tensor, entropy: Tensor, lse: Tensor) -> Tensor:
    """-dH p (log p + H), log p = z - lse of the lse that is given; 0 where p is 0."""
    impossible = logits == -INF
    log_p = (logits - lse.unsqueeze(1)).masked_fill(impossible, 0.0)
    slope = log_p.exp() * (log_p + entropy.unsqueeze(1))
    return (-dentropy.unsqueeze(1) * slope).masked_fill(impossible, 0.0)


def forward_floor(logits: Tensor) -> Floors:
    """H is the mean of -log p: each e^d loses |d| roundings, and both sums what their order costs; lse is a maximum and
    the logarithm of a sum.
    """
    entropy, lse = entropy_and_lse(logits)
    d, top = depths(logits)
    p = (d - (lse - top.squeeze(1)).unsqueeze(1)).exp().nan_to_num()
    depth = d.abs().nan_to_num(posinf=0.0)
    mean = (p * depth).sum(1)
    lost = 8 + leaning_walk(logits.shape[1])
    in_entropy = EPS * (lost * (1 + mean) + 2 * (p * depth * depth).sum(1))
    in_lse = EPS * (lost + lse.abs().nan_to_num(posinf=0.0) + mean)
    return floors(in_entropy, in_lse)


def backward_floor(dentropy: Tensor, logits: Tensor, entropy: Tensor, lse: Tensor) -> Floors:
    """p = e^(z - lse) loses |z - lse| roundings, and log p + H cancels where p is near e^-H; both may come from sums
    that are taken anew, and lse is good to half an ulp of it. Some machines make 0 of a p below 1.2e-38.
    """
    log_p = (logits - lse.unsqueeze(1)).nan_to_num(neginf=0.0)
    p = log_p.exp().masked_fill(logits == -INF, 0.0)
    slope = (log_p + entropy.unsqueeze(1)).abs()
    anew = lse.abs().nan_to_num(posinf=0.0).unsqueeze(1) + leaning_walk(logits.shape[1]) * (1 + entropy.unsqueeze(1))
    lost = slope * (4 + 2 * log_p.abs() + anew) + 4 * (log_p.abs() + entropy.unsqueeze(1)) + anew
    return floors(dentropy.abs().unsqueeze(1) * (EPS * p * lost + UNDERFLOW * (1 + slope)))


def logits(m: int, v: int) -> Values:
    """Ordinary logits."""
    return draw.normal(m, v).scale(3.0)


def some_masked(generator: Generator) -> Tensor:
    """(8, 90) of which 40 % are -inf; in rows 6 and 7 one class is possible, in the others at least one. No other row
    is nearly certain, so that what cancels there costs no digits here.
    """
    z = torch.randn((8, 90), generator=generator)
    hidden = torch.rand(z.shape, generator=generator) < 0.4
    hidden[:, 17], hidden[6:] = False, True
    z[hidden] = -INF
    z[6:, 17] = torch.tensor([-12.0, -1e4])
    return z


MASKED = draw.by(some_masked)
RISING = torch.linspace(-5, 5, 20_011)
ALL = slice(None)
IMPOSSIBLE = (
    "p is 0 and log p is -inf, and 0 · -inf is NaN. Which of the two can be replaced before they are multiplied?"
)
CASES = (
    case(
        "ordinary values",
        "Begin here: 7 rows of 128 logits. Where everything is NaN, in blocks: the largest logit so far is -inf before "
        f"the first, and -inf · 0 is NaN. {STEP_BY_STEP}",
        logits=logits(7, 128),
    ),
    case(AGAIN, KEEP_NOTHING, logits=logits(7, 128)),
    case(
        "masked classes", f"40 % of the logits are -inf, and in rows 6 and 7 all but one: {IMPOSSIBLE}", logits=MASKED
    ),
    case("masked classes, bfloat16", f"bfloat16, 40 % of it -inf: {IMPOSSIBLE}", logits=MASKED.to(torch.bfloat16)),
    case(
        "two classes, one of them impossible",
        f"(0, -inf): one class has all the probability, and the entropy is 0. Of the other one {IMPOSSIBLE}",
        logits=draw.tensor([(0.0, -INF), (-INF, 3.0), (-INF, -50.0), (1.0, 1.0)]),
    ),
    case(
        "float16, 65504 and -65504",
        "Finite logits, and their difference is infinite in float16. Convert to float32 first.",
        logits=draw.tensor([(65504.0, -65504.0), (-65504.0, 65504.0), (65504.0, 65504.0)], torch.float16),
    ),
    case(
        "a row of -inf",
        "Row 2 is -inf alone: its largest logit is -inf, and -inf - -inf is NaN. 0, and lse is -inf.",
        logits=draw.normal(5, 40).put(-INF, 2),
    ),
    case(
        "nothing but -inf",
        "No class is possible in any row. 0, and lse is -inf.",
        logits=draw.tensor([(-INF,) * 33, (-INF,) * 33]),
    ),
    case(
        "rising and falling",
        "20,011 logits around a line from -5 to 5, and from 5 to -5. In blocks the largest so far changes with every "
        "one: is every sum brought to the new one, Σ e^d · d too, whose d changes itself?",
        logits=draw.normal(2, 20_011).plus(torch.stack((RISING, -RISING))),
    ),
    case(
        "a first block of -inf",
        "40,000 logits, the first 32,768 at -inf: whole blocks. What do they leave for the next one (-inf - -inf is "
        "NaN)? A finite result is another matter: when the largest so far grows by s, Σ e^d becomes smaller by e^s, "
        "and Σ e^d · d loses s times it as well.",
        logits=logits(2, 40_000).put(-INF, ALL, slice(32_768)),
    ),
    case(
        "-inf but for 200",
        "20,011 logits, of which the first 200 of row 0 and the last 200 of row 1 are possible.",
        logits=logits(2, 20_011).put(-INF, 0, slice(200, None)).put(-INF, 1, slice(-200)),
    ),
    case(
        "logits around 9000",
        "Logits around 9000 and around -9000: lse has a step of 0.001 there. Subtract the largest logit from the whole "
        "row first; then nothing of that size is left in the entropy.",
        logits=draw.normal(60, 100).put(-8.0, 0, 5).plus(torch.tensor([9e3, -9e3] * 30).unsqueeze(1)),
    ),
    case(
        "large logits",
        "Logits up to 1e4: e^z overflows from 88.7 on, and p is 0 from 104 below the largest one on.",
        logits=draw.normal(6, 64)
        .scale(3e3)
        .clamp(-1e4, 1e4)
        .put((1e4, 9988.0), 0, [5, 6])
        .put((1e4, 9999.0), 1, [7, 8]),
    ),
    case(
        "nearly certain",
        "One class has nearly all the probability. H is the sum of small numbers: is a large one subtracted?",
        # of 5 rows the draw decided whether what cancels is more than is allowed; so it is around 9000 and of 3
        logits=draw.normal(100, 80)
        .scale(0.5)
        .plus(50.0)
        .put((58.0, 62.0, 66.0, 75.0, 90.0) * 20, range(100), [3, 79, 0, 40, 11] * 20),
    ),
    case("equal logits", "Equal logits: H is log 37, and the gradient 0.", logits=draw.full(4, 37, value=-2.5)),
    case("1 class", "One class: p is 1, H is 0, and so is the gradient.", logits=logits(5, 1)),
    case(
        "2 classes",
        "Two classes, in row 0 far apart, in row 1 near.",
        logits=logits(5, 2).put((0.5, -11.5), 0).put((-0.5, 0.5), 1),
    ),
    case(
        "3 classes",
        "Rows of 3 in a block of 4: what does the fourth lane add to the sums?",
        logits=logits(400, 3).put((0.5, -11.5, 1.0), 0).plus(-80.0),
    ),
    case(
        "17 classes",
        "17 logits in a block of 32: what do the other 15 lanes add to the sums?",
        logits=draw.normal(5, 17).plus(-8.0),
    ),
    case(
        "1000 classes",
        "1000 logits leave 24 lanes of a block of 1024 empty. A logit of 0 there would add e^0 = 1.",
        logits=logits(5, 1000).plus(-20.0),
    ),
    case("1025 classes", "One logit more than 1024. Is it read, is it counted, is it written?", logits=logits(5, 1025)),
    case("20011 classes", "20,011 logits, several blocks: how are their sums put together?", logits=logits(3, 20_011)),
    case("many rows", "300 rows. Does every one get its result?", logits=draw.normal(300, 6)),
    # of wider logits the draw decides whether the classes of small p are more than 1 % of what is right
    case("one row", "One row, of 515 logits.", logits=draw.normal(1, 515).scale(0.5)),
    case("no rows", "No rows go in, no rows come out.", logits=logits(0, 33)),
    case(
        "3 rows of 8193, every second column",
        "8193 logits a row at a stride of 2, near -200, in row 1 the first half near -10: where does a maximum start, "
        "and do the strides count in every block?",
        logits=logits(3, 8193).plus(-200.0).change(lambda z: z[1, :4096].add_(190.0)).every_second(),
    ),
    *(case(dtype_name(dtype), CONVERT, logits=logits(6, 384).to(dtype)) for dtype in HALVES),
    case(
        "one row for all, at stride 0",
        "Every row is the same one: logits.stride() is (0, 1).",
        logits=logits(6, 70).one_row(),
    ),
    case(
        "transposed", "A transposed matrix: a row is not contiguous in memory.", logits=draw.normal(37, 53).transposed()
    ),
    case(
        "rows with gaps",
        "bfloat16 rows of 127 logits, 160 apart in memory: a padded vocabulary, seen through a slice.",
        logits=logits(9, 127).to(torch.bfloat16).with_gaps(),
    ),
    case(
        "every second column",
        "float16 logits, and the stride of the last dimension is 2.",
        logits=logits(9, 101).to(torch.float16).every_second(),
    ),
    case(BEYOND, BEYOND_HINT, logits=draw.normal(3, 70).to(torch.bfloat16).far_apart()),
    case(
        "NaN in one row",
        "NaN in gives NaN out, in its own row and in no other. (In Triton, tl.max drops NaN.)",
        logits=logits(5, 45).put(NAN, 2, 11),
    ),
)


UPSTREAM = (
    case(
        "dentropy of stride 0",
        "What .sum() hands back: one number for all rows. dentropy.stride() is (0,).",
        logits=logits(29, 67),
        dentropy=draw.without_zeros(like="lse").one_number(),
    ),
    case(
        "tiny dentropy, every second of a longer one",
        "dentropy is about 1e-8, as with a mean over many tokens, or exactly 0, and dentropy.stride() is (2,). Is it "
        "compared with a constant, and is it read where its stride says?",
        logits=logits(29, 67),
        dentropy=draw.gradient(like="lse").scale(1e-8).put(0.0, [4, 11]).every_second(),
    ),
    case(
        "NaN in dentropy",
        NAN_IN.format("dentropy"),
        logits=logits(9, 67),
        dentropy=draw.gradient(like="lse").put(NAN, 4),
    ),
)
CANCELLING = ("logits around 9000", "large logits", "nearly certain", "3 classes")  # where lse and p · z are large
REASON = (
    "H is the mean of -log p: every e^d loses |d| roundings, and two float32 sums of V terms in any order lose √V + "
    "V / 32 ulp. Backward log p = z - lse is good to the rounding of lse."
)
TRL = "huggingface/trl#7221"
FORMULA = WildBug(
    who="trl 0.20.0 to 1.16.0, -(p · log p),",
    thread=TRL,
    function=wild.entropy_formula,
    seen_by="masked classes",
    story="A class that is masked out has p = 0 and log p = -inf. Their product is NaN, and so is the row's sum.",
)
BLOCKS = WildBug(
    who="the fused kernel of trl 1.16.0",
    thread="trl 1.16.0, trl/kernels/logprob_entropy.py",
    function=wild.entropy_blocks,
    seen_by="logits around 9000",
    story="lse - Σ p z: 0 · -inf again for a masked class, and around 9000 the entropy comes in steps of 0.001.",
)
FROM_LSE = CommonMistake(
    who="lse - Σ p z, with p = e^(z - lse)",
    function=wild.entropy_from_lse,
    seen_by="logits around 9000",
    story="Around 9000 a float32 lse is off by up to 0.0005. So is the sum of p, and 9000 times that is 4.",
)

entropy_forward = Exercise(
    name="entropy_forward",
    summary="H = -Σ p log p, p = e^(z - lse), and lse = log Σ e^z, for each row; of -inf alone 0 and -inf",
    oracle=entropy_and_lse,
    outputs=(Output("entropy", torch.float32), Output("lse", torch.float32)),
    cases=CASES,
    tolerance=Tolerance(1, 8, REASON, forward_floor),
    hint="With d = z - the largest: H = log Σ e^d - Σ e^d d / Σ e^d. Ask what e^d · d is where d is -inf.",
    wild=(FORMULA, BLOCKS, FROM_LSE),
    points=4,
    least_bytes=lambda logits: logits.numel() * logits.element_size() + 8 * len(logits),
    traffic=1.05,
    about=("masked classes", "two classes, one of them impossible", *CANCELLING),
)

HIDDEN = WildBug(
    who="nan_to_num after the product, as proposed for trl,",
    thread="huggingface/trl#7252",
    function=wild.entropy_backward_nan_to_num,
    seen_by="masked classes",
    story="Its entropy is right. Backward goes through the product that was covered up, and 0 · -inf is there again.",
)
XLOGY = WildBug(
    who="xlogy(p, p), as proposed for trl,",
    thread="huggingface/trl#7224",
    function=wild.entropy_backward_xlogy,
    seen_by="large logits",
    story="p log p has an infinite slope at p = 0, also where p underflows. Times p that is NaN, and so is the row.",
)
BLOCKS_GRADIENT = WildBug(
    who=BLOCKS.who,
    thread=BLOCKS.thread,
    function=wild.entropy_backward_blocks,
    seen_by="masked classes",
    story="dH · p · (Σ p z - z): where z is -inf that is 0 · inf, and the masked class itself gets the NaN.",
)
AS_IT_STANDS = CommonMistake(
    who="-dH p (log p + H) as it stands",
    function=wild.entropy_backward_formula,
    seen_by="masked classes",
    story="Where p is 0, log p is -inf, and the product is NaN.",
)

entropy_backward = Exercise(
    name="entropy_backward",
    summary="dlogits = -dH p (log p + H), p = e^(z - lse); 0 where p is 0",
    oracle=entropy_gradient,
    outputs=(Output("dlogits", "logits"),),
    cases=(*also(CASES, dentropy=draw.without_zeros(like="lse")), *UPSTREAM),
    tolerance=Tolerance(1, 8, REASON, backward_floor),
    hint="No sum is left to take: lse and H are given. Where z is -inf choose the 0; a product does not give it.",
    refused=frozenset({"autograd"}),
    wild=(BLOCKS_GRADIENT, XLOGY, HIDDEN, AS_IT_STANDS),
    points=4,
    least_bytes=lambda dentropy, logits, entropy, lse: 2 * logits.numel() * logits.element_size() + 12 * len(logits),
    traffic=1.05,
    forward=entropy_forward,
    about=("masked classes", "two classes, one of them impossible", *CANCELLING),
)
