"""The clipped policy loss over the tokens that count. Cases: ROLL#444, trl#2881, verl#6349,
flash-linear-attention#1076.
"""

from dataclasses import replace
from typing import Final, NamedTuple

import torch
from torch import Tensor

from ...kernels.wild import policy_loss as wild
from ..judge import (
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
from .cases.rounding import EPS, floors, leaning_walk
from .cases.wording import AGAIN, BEYOND, BEYOND_HINT, KEEP_NOTHING, NAN_IN, STEP_BY_STEP


class Parts(NamedTuple):
    """Holds what loss and gradient are made of, each (M, N) but ``items``, and 0 where the mask is False.

    distance: |logp - old|. ratio: ρ. passes: where ρA <= clamp(ρ) A. term: the smaller of these, 0 where A is 0. items:
    what their sum is divided by.
    """

    distance: Tensor
    ratio: Tensor
    advantage: Tensor
    passes: Tensor
    term: Tensor
    items: float


def parts(
    logp: Tensor, old: Tensor, advantage: Tensor, mask: Tensor, count: float | None = None, clip: float = 0.2
) -> Parts:
    """The parts of the loss."""
    difference = (logp - old).where(mask, 0.0)
    ratio = difference.exp()
    advantage = advantage.unsqueeze(1).expand(mask.shape).where(mask, 0.0)
    end = torch.where(advantage > 0, 1 + clip, 1 - clip)
    beyond = torch.where(advantage > 0, ratio > end, ratio < end)
    term = (torch.where(beyond, end, ratio) * advantage).where(mask & (advantage != 0), 0.0)
    items = float(mask.sum() if count is None else count)
    return Parts(difference.abs(), ratio, advantage, ~beyond & mask & (advantage != 0), term, items)


def loss_of(
    logp: Tensor, old: Tensor, advantage: Tensor, mask: Tensor, count: float | None = None, clip: float = 0.2
) -> Tensor:
    """-Σ min(ρA, clamp(ρ) A) / count; 0 where count is 0."""
    terms = parts(logp, old, advantage, mask, count, clip)
    return -terms.term.sum() * (1 / terms.items if terms.items else 0.0)


def gradient_of(
    dloss: Tensor,
    logp: Tensor,
    old: Tensor,
    advantage: Tensor,
    mask: Tensor,
    count: float | None = None,
    clip: float = 0.2,
) -> Tensor:
    """-dloss ρA / count where ρA <= clamp(ρ) A."""
    terms = parts(logp, old, advantage, mask, count, clip)
    share = -dloss / terms.items if terms.items else torch.zeros_like(dloss)
    return (share * terms.ratio * terms.advantage).where(terms.passes, 0.0)


def lost(parts: Parts) -> Tensor:
    """Returns what e^(logp - old) may be off by, in parts of itself: the difference is rounded, and so is its product
    with log2 e.
    """
    return EPS * (2 * parts.distance + 4)


def forward_floor(
    logp: Tensor, old: Tensor, advantage: Tensor, mask: Tensor, count: float | None = None, clip: float = 0.2
) -> Floors:
    """Each ratio that counts is as good as its exponent is small. The sum loses what a sum in any order does, and where
    one number is added again and again, as what is clipped is, its roundings may lean one way: by n / 4 at most.
    """
    terms = parts(logp, old, advantage, mask, count, clip)
    clipped = ~terms.passes & mask & (terms.term != 0)  # one rounded product
    each = terms.term.abs() * (lost(terms) * (~clipped).double() + 2 * EPS)
    roundings = 1 + leaning_walk(int(mask.sum())) + int(clipped.sum()) / 4
    total = each.nansum() + EPS * roundings * terms.term.abs().nansum()
    return floors(total / terms.items if terms.items else 0.0)


def backward_floor(
    dloss: Tensor,
    logp: Tensor,
    old: Tensor,
    advantage: Tensor,
    mask: Tensor,
    count: float | None = None,
    clip: float = 0.2,
) -> Floors:
    """A ratio within its own error of an end of the interval may be taken to lie on either side. That of equal
    probabilities is 1, which nothing rounds.
    """
    terms = parts(logp, old, advantage, mask, count, clip)
    whole = (dloss / terms.items * terms.ratio * terms.advantage).abs() if terms.items else torch.zeros_like(logp)
    error = lost(terms) + 8 * EPS
    end = torch.where(terms.advantage > 0, 1 + clip, 1 - clip)
    near = ((terms.ratio - end).abs() <= error * terms.ratio) & (terms.distance > 0)
    allowed = (whole * error).where(terms.passes, 0.0)
    return (torch.where(near & mask, whole, allowed).nan_to_num(0.0),)


def tokens(samples: int, each: int, *, share: float = 0.7, spread: float = 0.3) -> Arguments:
    """Of each sample as many tokens, a share of which counts. spread: the standard deviation of logp - old."""
    return Arguments.named(
        logp=draw.normal(samples, each).map(lambda x: -3 * x.abs()),
        old=draw.normal(samples, each).scale(spread).plus("logp"),
        advantage=draw.normal(samples),
        mask=draw.truths(samples, each, share=share),
    )


def calm(samples: int, each: int) -> Arguments:
    """Tokens that all count, with a positive advantage, of which none is clipped."""
    all_count = tokens(samples, each, share=2.0, spread=0.03)
    return all_count.but(advantage=draw.normal(samples).map(lambda advantage: advantage.abs() + 0.1))


def lengths(*of_samples: int) -> Values:
    """The first tokens of each sample count."""
    count = torch.tensor(of_samples).unsqueeze(1)
    return draw.same.map(lambda mask: torch.arange(mask.shape[1]) < count)


def only(row: int, column: int) -> Values:
    """One token counts."""
    return draw.same.put(False, slice(None)).put(True, row, column)


def rounded(given: Arguments) -> Arguments:
    """logp - old of the first sample is a number that half precision rounds, and its advantage is the largest."""
    words = {"logp": draw.same.put(-0.75, 0), "old": draw.same.put(-0.05, 0), "advantage": draw.same.put(8.0, 0)}
    for name, word in words.items():
        given = given.each(word, name)
    return given


def differences(*of_tokens: float, advantage: tuple[float, ...]) -> Arguments:
    """logp - old is each of these in every sample, and all tokens count."""
    samples, each = len(advantage), len(of_tokens)
    return tokens(samples, each).but(
        old=draw.full(samples, each, value=-4.0),
        logp=draw.tensor([of_tokens] * samples).plus("old"),
        mask=draw.full(samples, each, value=True),
        advantage=draw.tensor(advantage),
    )


def poisoned(logp: Tensor, old: Tensor, mask: Tensor) -> None:
    """Says what does not count is NaN and infinity, in turn; row 1 has no token that counts."""
    mask[1] = False
    garbage = torch.tensor([torch.nan, torch.inf, -torch.inf, 3e38]).repeat(mask.numel())[: int((~mask).sum())]
    logp[~mask], old[~mask] = garbage, garbage.flip(0)


OVERFLOW = (0.0, 0.1, 88.0, 89.0, 100.0, 1000.0, 9999.0, -0.1)
SHRUNK = (-0.1, -0.5, -20.0, -80.0, -104.0, -200.0, -9999.0, 0.05)
LARGE = (1.0, 5.0, 10.0, 20.0, 21.0, 40.0, 60.0, 80.0)
F16, BF16 = draw.same.to(torch.float16), draw.same.to(torch.bfloat16)
BOTH, ALL = ("logp", "old"), ("logp", "old", "mask")
NO_TOKEN: Final = "no token"
CONVERT = "Convert logp and old to float32 before you subtract them, compute there, and round once at the end."

CASES = (
    case(
        "ordinary values",
        "Begin here: 6 samples of 40 tokens, all of which count and none of which is clipped. " + STEP_BY_STEP,
        calm(6, 40),
    ),
    case(AGAIN, KEEP_NOTHING, calm(6, 40)),
    case(
        "some tokens count",
        "About 245 of 350 tokens count: the others are neither in the sum nor in the count. Beyond the interval the "
        "loss is flat on one side alone: where ρA is the smaller of the two it has its slope there, too.",
        tokens(7, 50),
    ),
    case(
        "samples of unequal length",
        "Samples of 1, 3, 20 and 64 tokens. Every token counts the same, whichever sample it is in.",
        tokens(4, 64),
        mask=lengths(1, 3, 20, 64),
    ),
    case(
        "one token",
        "One token of 150 counts: the loss is its own.",
        tokens(5, 30, spread=0.03),
        mask=only(3, 17),
    ),
    case(
        "one clipped token",
        "One token, with A > 0 and a ratio of e: the loss is -(1 + clip) A, with clip = 0.2.",
        differences(1.0, advantage=(0.7,)),
    ),
    case(
        "nothing counts",
        "No token counts: the loss is 0, and so is every gradient.",
        tokens(4, 33, share=-1.0),
        convention=NO_TOKEN,
    ),
    case("no samples", "No samples: the loss is 0.", tokens(0, 8), convention=NO_TOKEN),
    case("no tokens", "Samples without tokens: the loss is 0.", tokens(5, 0), convention=NO_TOKEN),
    case(
        "count of the whole step",
        "count is 3001 here: the tokens of the whole step, of which these are a part. Divide by it.",
        tokens(7, 50),
        count=3001,
    ),
    case("count is no whole number", "count is 12.5 here, a constant that somebody chose.", tokens(5, 20), count=12.5),
    case("count = 1", "count is 1: nothing is divided.", tokens(5, 20), count=1),
    case(
        "count = 0 and tokens",
        "count is 0 although tokens count. It is a number and not None: the loss is 0, and so is the gradient.",
        tokens(5, 20),
        count=0,
        convention=NO_TOKEN,
    ),
    case(
        "count = 0.0 and more tokens",
        "count is 0.0, as a mean over ranks gives it: a number, too, and not None.",
        tokens(7, 50),
        count=0.0,
        convention=NO_TOKEN,
    ),
    case(
        "count of the whole step and nothing counts",
        "No token of this micro-batch counts, and 1000 of the step do: its part is 0.",
        tokens(5, 20, share=-1.0),
        count=1000,
        category=Category.EDGES,
    ),
    case("clip = 0.5", "clip is 0.5 here. Is it used, at both ends?", tokens(6, 40, spread=0.6), clip=0.5),
    case(
        "clip = 0.02 and a count",
        "clip is 0.02 and count is 64: the third and second last argument of the signature.",
        tokens(6, 40),
        count=64,
        clip=0.02,
    ),
    case(
        "clip = 0",
        "clip is 0 here, and so both ends of the interval are 1, which is the ratio of half of the tokens. The ends "
        "are part of the interval.",
        differences(0.0, -0.5, 0.0, 0.5, 0.0, 0.25, -0.25, 0.0, advantage=(0.7, -1.3)),
        clip=0.0,
        category=Category.EDGES,
    ),
    case(
        "far from the old policy",
        "logp and old are 3 apart. With A > 0 the ratio is bounded above alone, with A < 0 below alone: the smaller "
        "of the two products counts.",
        tokens(9, 40, spread=3.0),
    ),
    case(
        "the ratio overflows",
        "logp - old is up to 9999 with A > 0. e^89 is infinite, and clipped it is 1 + clip. Its gradient is 0.",
        differences(*OVERFLOW, advantage=(0.7, 1.3, 0.2, 2.0)),
        category=Category.EDGES,
    ),
    case(
        "advantage 0",
        "A is 0 in rows 0 and 2, where the ratio overflows: 0 · inf is NaN, and the term is 0.",
        differences(*OVERFLOW, advantage=(0.0, 0.9, -0.0, 1.1)),
    ),
    case(
        "the ratio underflows",
        "logp - old is down to -9999, the ratio is 0: with A > 0 so is the term, with A < 0 it is (1 - clip) A.",
        differences(*SHRUNK, advantage=(0.7, -1.3, 0.2, -2.0)),
        category=Category.EDGES,
    ),
    case(
        "a negative advantage and a large ratio",
        "With A < 0 nothing bounds the ratio above: it is e^80 here, and the loss as large.",
        differences(*LARGE, advantage=(-0.7, -1.3, 0.4)),
    ),
    case(
        "NaN and infinity where nothing counts",
        "What does not count holds NaN and infinity: no sum, no product with 0 and no comparison may meet it.",
        tokens(6, 45).change(poisoned),
    ),
    case(
        "NaN in one token",
        "A NaN that counts makes the loss NaN and its own gradient, and no other token's. (A comparison with NaN is "
        "False, and tl.minimum of Triton drops it.)",
        tokens(6, 45),
        mask=draw.same.put(True, 2, 5),
        logp=draw.same.put(torch.nan, 2, 5),
    ),
    case(
        "NaN in one advantage",  # of clipped ratios a NaN's gradient is 0 or NaN, both right
        NAN_IN.format("advantage"),
        calm(6, 45),
        mask=draw.same.put(True, 2, 5),
        advantage=draw.same.put(torch.nan, 2),
    ),
    case("1 token a sample", "One token a sample: the policy gradient of a bandit.", calm(70, 1)),
    case("17 tokens a sample", "17 tokens in a block of 32: the other 15 lanes add nothing.", calm(9, 17)),
    case("1000 tokens a sample", "1000 tokens leave 24 lanes of a block of 1024 empty.", calm(3, 1000)),
    case(
        "8193 tokens a sample",
        "One token more than 8192, several blocks: is every part of the sum added?",
        calm(2, 8193),
    ),
    case("many samples", "300 samples of 6 tokens. Does every one find a program?", calm(300, 6)),
    # Few of these many tokens are clipped: errors of a sum of equal numbers do not walk at random.
    case(
        "as in training",
        "24 samples of up to 1536 tokens. Every tensor can be read once.",
        tokens(24, 1536, spread=0.1),
    ),
    case(
        "transposed",
        "All transposed: a sample's tokens are not neighbours in memory.",
        tokens(37, 23).each(draw.same.transposed(), *ALL),
    ),
    case(
        "every second token",
        "The stride of the last dimension is 2, also of the mask.",
        tokens(9, 101).each(draw.same.every_second(), *ALL),
    ),
    case(
        "strides of their own",
        "Each of the tensors has strides of its own. logp has gaps between its rows, old is transposed, and the mask "
        "is one row for all, at stride 0.",
        tokens(9, 70),
        logp=draw.same.with_gaps(),
        old=draw.same.transposed(),
        mask=draw.same.one_row(),
    ),
    case(BEYOND, BEYOND_HINT, tokens(3, 70).each(F16, *BOTH).each(draw.same.far_apart(), *ALL)),
    case("float16", CONVERT, tokens(6, 200, spread=1.0).each(F16, *BOTH)),
    case("bfloat16", CONVERT, rounded(tokens(6, 200, spread=1.0)).each(BF16, *BOTH)),
    case("bfloat16 with an old of float32", f"logp is bfloat16 and old float32. {CONVERT}", tokens(6, 90), logp=BF16),
    case(
        "everything bfloat16",
        f"The advantage is bfloat16, too. {CONVERT}",
        tokens(6, 90).each(BF16, *BOTH, "advantage"),
    ),
)


MATRIX = WildBug(
    who="ROLL 0.2.0 to 0.3.0",
    thread="alibaba/ROLL#444",
    function=wild.whole_matrix,
    seen_by="some tokens count",
    story="The sum of the whole matrix, divided by the tokens that count: padding and tool outputs train, too.",
)
SIGN = WildBug(
    who="flash-linear-attention 0.1.0 to 0.5.2",
    thread="fla-org/flash-linear-attention#1076",
    function=wild.other_sign,
    seen_by="ordinary values",
    story="Two minus signs, of which one was enough: training makes good answers less likely.",
)
ROW_MEANS = WildBug(
    who="trl before 0.16.0",
    thread="huggingface/trl#2881",
    function=wild.mean_of_rows,
    seen_by="samples of unequal length",
    story="The mean over samples of each sample's own mean: a token of a short answer weighs more.",
)
PRODUCT = WildBug(
    who="a product with the mask, as in verl's sequence modes,",
    thread="verl-project/verl#6349",
    function=wild.product_with_mask,
    seen_by="NaN and infinity where nothing counts",
    story="0 · NaN is NaN: what a masked token holds reaches the loss all the same.",
)
FORMULA = CommonMistake(
    who="the formula with no guard",
    function=wild.no_guard,
    seen_by="advantage 0",
    story="0 · inf where the advantage is 0 and the ratio overflows, and 0 / 0 where no token counts.",
)
FALSY = CommonMistake(
    who="count or mask.sum()",
    function=wild.count_or,
    seen_by="count = 0 and tokens",
    story="0 is false: a count of 0 becomes the number of this batch's own tokens.",
)

_REASON = (
    "e^(logp - old) loses as many roundings as its exponent is large, and a sum of n terms of both signs, in any "
    "order, √n + n / 32 ulp of their magnitudes; those that are clipped are equal, and may lose a quarter of an ulp "
    "more each."
)
_POINT = (  # what is clipped, what counts and what is divided by, all of which plain values leave out
    "some tokens count",
    "samples of unequal length",
    "one token",
    "one clipped token",
    "nothing counts",
    "count of the whole step",
    "count is no whole number",
    "count = 1",
    "count = 0 and tokens",
    "count = 0.0 and more tokens",
    "clip = 0.5",
    "clip = 0.02 and a count",
    "far from the old policy",
    "advantage 0",
    "a negative advantage and a large ratio",
    "NaN and infinity where nothing counts",
    "as in training",
)
_CALM = (
    "ordinary values",
    AGAIN,
    *(f"{count} tokens a sample" for count in (17, 1000, 8193)),
    "1 token a sample",
    "many samples",
)


def _bytes(logp: Tensor, old: Tensor, advantage: Tensor, mask: Tensor) -> int:
    """Bytes of the inputs."""
    return sum(x.numel() * x.element_size() for x in (logp, old, advantage, mask))


policy_loss_forward = Exercise(
    name="policy_loss_forward",
    summary="-Σ min(ρA, clamp(ρ, 1 - clip, 1 + clip) A) / count over the tokens where mask is True, ρ = e^(logp - old)",
    oracle=loss_of,
    outputs=(Output("loss", torch.float32),),
    cases=CASES,
    tolerance=Tolerance(1, 8, _REASON, forward_floor),
    hint="Choose what a token adds before you add; ask what is divided by, and what if it is 0.",
    allowed=frozenset({"sum"}),
    wild=(MATRIX, SIGN, ROW_MEANS, PRODUCT, FORMULA, FALSY),
    points=4,
    least_bytes=lambda logp, old, advantage, mask, count=None, clip=0.2: _bytes(logp, old, advantage, mask) + 4,
    traffic=1.05,
    about=_POINT,
)

MATRIX_GRADIENT = replace(
    MATRIX, function=wild.whole_matrix_backward, story="A token that does not count had the gradient of one that does."
)
SIGN_GRADIENT = replace(SIGN, function=wild.other_sign_backward)
FORMULA_GRADIENT = CommonMistake(
    who="a guard after the product",
    function=wild.no_guard_backward,
    seen_by="advantage 0",
    story="The gradient of ρA is A ρ, and 0 · inf is NaN: a guard of the loss does not stand before it.",
)
UNCLIPPED = CommonMistake(
    who="the gradient of -ρA alone",
    function=wild.never_clipped_backward,
    seen_by="far from the old policy",
    story="A token that is clipped has no gradient: its loss does not depend on logp.",
)


def _from_above(original: Case) -> Case:
    """The case with a dloss: 1 in plain values, and in the first of them ρ is 1, as in the first step of a policy."""
    dloss = draw.tensor(1.0) if original.name in _CALM else draw.normal().scale(0.8).plus(-0.1)
    more = {"old": draw.same.scale(0.0).plus("logp")} if original.name in _CALM[:2] else {}
    (changed,) = also((original,), **more, dloss=dloss)
    return changed


policy_loss_backward = Exercise(
    name="policy_loss_backward",
    summary="dlogp = -dloss ρA / count where mask is True and ρA <= clamp(ρ) A, 0 elsewhere; NaN where ρA is",
    oracle=gradient_of,
    outputs=(Output("dlogp", "logp"),),
    cases=(
        *(_from_above(original) for original in CASES),
        case(
            "a dloss of 1e-8",
            "dloss is 1e-8: what comes out is as small, with as many digits.",
            tokens(7, 50),
            dloss=draw.tensor(1e-8),
        ),
        case("NaN in dloss", NAN_IN.format("dloss"), calm(6, 45), dloss=draw.tensor(torch.nan)),
        case("a dloss of 0", "dloss is 0, and so is every gradient.", tokens(7, 50), dloss=draw.tensor(0.0)),
    ),
    tolerance=Tolerance(1, 8, _REASON, backward_floor),
    hint="Where the term is ρA its derivative is ρA again; where it is clipped it does not depend on logp.",
    refused=frozenset({"autograd"}),
    allowed=frozenset({"sum"}),
    wild=(MATRIX_GRADIENT, SIGN_GRADIENT, FORMULA_GRADIENT, UNCLIPPED),
    points=3,
    least_bytes=lambda dloss, logp, old, advantage, mask, count=None, clip=0.2: (
        # Without a count the mask is read before the gradient can be, and again with it.
        _bytes(logp, old, advantage, mask) + logp.numel() * logp.element_size() + (count is None) * mask.numel() + 4
    ),
    traffic=1.05,
    forward=policy_loss_forward,
    about=(*_POINT, "a dloss of 1e-8"),
)
