"""The clipped policy loss over the tokens that count. Cases: ROLL#444, trl#2881, verl#6349,
flash-linear-attention#1076.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from ...kernels.wild import policy_loss as wild
from ..run.contract import Args
from ..run.huge_strides import far_apart
from .cases.common import (
    AGAIN,
    EPS,
    KEEP_NOTHING,
    STEP_BY_STEP,
    View,
    as_it_is,
    every_second,
    leaning_walk,
    transposed,
    with_gaps,
)
from .cases.elementwise import BEYOND, BEYOND_HINT, normal
from .cases.rows import floors
from .record import Case, CommonMistake, Convention, Exercise, Floors, Output, Tolerance, WildBug


class Parts(NamedTuple):
    """What loss and gradient are made of, each (M, N) but ``items``, and 0 where the mask is False.

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
    found = parts(logp, old, advantage, mask, count, clip)
    return -found.term.sum() * (1 / found.items if found.items else 0.0)


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
    found = parts(logp, old, advantage, mask, count, clip)
    share = -dloss / found.items if found.items else torch.zeros_like(dloss)
    return (share * found.ratio * found.advantage).where(found.passes, 0.0)


def lost(found: Parts) -> Tensor:
    """What e^(logp - old) may be off by, in parts of itself: the difference is rounded, and so is its product with log2
    e.
    """
    return EPS * (2 * found.distance + 4)


def forward_floor(
    logp: Tensor, old: Tensor, advantage: Tensor, mask: Tensor, count: float | None = None, clip: float = 0.2
) -> Floors:
    """Each ratio that counts is as good as its exponent is small. The sum loses what a sum in any order does, and where
    one number is added again and again, as what is clipped is, its roundings may lean one way: by n / 4 at most.
    """
    found = parts(logp, old, advantage, mask, count, clip)
    clipped = ~found.passes & mask & (found.term != 0)  # one rounded product
    each = found.term.abs() * (lost(found) * (~clipped).double() + 2 * EPS)
    roundings = 1 + leaning_walk(int(mask.sum())) + int(clipped.sum()) / 4
    total = each.nansum() + EPS * roundings * found.term.abs().nansum()
    return floors(total / found.items if found.items else 0.0)


def backward_floor(
    dloss: Tensor,
    logp: Tensor,
    old: Tensor,
    advantage: Tensor,
    mask: Tensor,
    count: float | None = None,
    clip: float = 0.2,
) -> Floors:
    """A ratio within its own error of an end of the interval may be taken to lie on either side."""
    found = parts(logp, old, advantage, mask, count, clip)
    whole = (dloss / found.items * found.ratio * found.advantage).abs() if found.items else torch.zeros_like(logp)
    error = lost(found) + 8 * EPS
    end = torch.where(found.advantage > 0, 1 + clip, 1 - clip)
    near = (found.ratio - end).abs() <= error * found.ratio
    allowed = (whole * error).where(found.passes, 0.0)
    return (torch.where(near & mask, whole, allowed).nan_to_num(0.0),)


Change = Callable[[Tensor, Tensor, Tensor, Tensor], object]  # of logp, old, advantage and mask, in place


def nothing(*tensors: Tensor) -> None:
    """Changes nothing."""


@dataclass(frozen=True)
class Row:
    """One case: N tokens for each of M samples.

    share: of the tokens, True. spread: the standard deviation of logp - old. views: how logp, old and mask lie in
    memory. dtypes: of logp, old and advantage.
    """

    name: str
    shape: tuple[int, int]
    hint: str
    share: float = 0.7
    spread: float = 0.3
    change: Change = nothing
    views: tuple[View, View, View] = (as_it_is,) * 3
    dtypes: tuple[torch.dtype, torch.dtype, torch.dtype] = (torch.float32,) * 3
    count: float | None = None
    clip: float | None = None
    convention: Convention = ""

    def draw(self, generator: Generator) -> Args:
        """(logp, old, advantage, mask), and count and clip where one of them is set."""
        logp = -3 * normal(generator, self.shape).abs()
        old = (logp + normal(generator, self.shape, scale=self.spread)).to(self.dtypes[1])
        logp, advantage = logp.to(self.dtypes[0]), normal(generator, self.shape[:1]).to(self.dtypes[2])
        mask = torch.rand(self.shape, generator=generator) < self.share
        self.change(logp, old, advantage, mask)
        tensors = [view(x) for view, x in zip(self.views, (logp, old, mask), strict=True)]
        numbers = () if self.count is None and self.clip is None else (self.count,)
        return *tensors[:2], advantage, tensors[2], *numbers, *(() if self.clip is None else (self.clip,))


def _lengths(*lengths: int) -> Change:
    """The first tokens of each row count."""

    def change(logp: Tensor, old: Tensor, advantage: Tensor, mask: Tensor) -> None:
        mask[:] = torch.arange(mask.shape[1]) < torch.tensor(lengths).unsqueeze(1)

    return change


def _only(row: int, column: int) -> Change:
    """One token counts."""

    def change(logp: Tensor, old: Tensor, advantage: Tensor, mask: Tensor) -> None:
        mask[:] = False
        mask[row, column] = True

    return change


def _poisoned(logp: Tensor, old: Tensor, advantage: Tensor, mask: Tensor) -> None:
    """What does not count is NaN and infinity, in turn; row 1 has no token that counts."""
    mask[1] = False
    garbage = torch.tensor([torch.nan, torch.inf, -torch.inf, 3e38]).repeat(mask.numel())[: int((~mask).sum())]
    logp[~mask], old[~mask] = garbage, garbage.flip(0)


def _one_nan(logp: Tensor, old: Tensor, advantage: Tensor, mask: Tensor) -> None:
    mask[2, 5], logp[2, 5] = True, torch.nan


def _differences(*differences: float, advantage: tuple[float, ...]) -> Change:
    """logp - old is each of these, row by row; all tokens count."""

    def change(logp: Tensor, old: Tensor, given: Tensor, mask: Tensor) -> None:
        old[:] = -4.0
        logp[:] = old + torch.tensor(differences)
        mask[:] = True
        given[:] = torch.tensor(advantage)

    return change


OVERFLOW = (0.0, 0.1, 88.0, 89.0, 100.0, 1000.0, 9999.0, -0.1)
SHRUNK = (-0.1, -0.5, -20.0, -80.0, -104.0, -200.0, -9999.0, 0.05)
LARGE = (1.0, 5.0, 10.0, 20.0, 21.0, 40.0, 60.0, 80.0)
HALF = (torch.float16, torch.float16, torch.float32), (torch.bfloat16, torch.bfloat16, torch.float32)
F32, BF16 = torch.float32, torch.bfloat16
NO_TOKEN: Convention = "no token"
CONVERT = "Convert logp and old to float32 before you subtract them, compute there, and round once at the end."
EACH = "Each of the tensors has strides of its own."


def _one_for_all(x: Tensor) -> Tensor:
    """Every row is the first one, at stride 0."""
    return x[:1].expand(x.shape)


ROWS = (
    Row(
        "ordinary values", (6, 40), "Begin here: 6 samples of 40 tokens, all of which count. " + STEP_BY_STEP, share=2.0
    ),
    Row(AGAIN, (6, 40), KEEP_NOTHING, share=2.0),
    Row(
        "some tokens count",
        (7, 50),
        "About 245 of 350 tokens count: the others are neither in the sum nor in the count.",
    ),
    Row(
        "samples of unequal length",
        (4, 64),
        "Samples of 1, 3, 20 and 64 tokens. Every token counts the same, whichever sample it is in.",
        change=_lengths(1, 3, 20, 64),
    ),
    Row("one token", (5, 30), "One token of 150 counts: the loss is its own.", change=_only(3, 17)),
    Row(
        "one clipped token",
        (1, 1),
        "One token, with A > 0 and a ratio of e: the loss is -(1 + clip) A, with clip = 0.2.",
        change=_differences(1.0, advantage=(0.7,)),
    ),
    Row(
        "nothing counts",
        (4, 33),
        "No token counts: the loss is 0, and so is every gradient.",
        share=-1.0,
        convention=NO_TOKEN,
    ),
    Row("no samples", (0, 8), "No samples: the loss is 0.", convention=NO_TOKEN),
    Row("no tokens", (5, 0), "Samples without tokens: the loss is 0.", convention=NO_TOKEN),
    Row(
        "count of the whole step",
        (7, 50),
        "count is 3001 here: the tokens of the whole step, of which these are a part. Divide by it.",
        count=3001,
    ),
    Row("count is no whole number", (5, 20), "count is 12.5 here, a constant that somebody chose.", count=12.5),
    Row("count = 1", (5, 20), "count is 1: nothing is divided.", count=1),
    Row(
        "count = 0 and tokens",
        (5, 20),
        "count is 0 although tokens count. It is a number and not None: the loss is 0, and so is the gradient.",
        count=0,
        convention=NO_TOKEN,
    ),
    Row(
        "count of the whole step and nothing counts",
        (5, 20),
        "No token of this micro-batch counts, and 1000 of the step do: its part is 0.",
        share=-1.0,
        count=1000,
    ),
    Row("clip = 0.5", (6, 40), "clip is 0.5 here. Is it used, at both ends?", clip=0.5, spread=0.6),
    Row(
        "clip = 0.02 and a count",
        (6, 40),
        "clip is 0.02 and count is 64: the third and second last argument of the signature.",
        clip=0.02,
        count=64,
    ),
    Row(
        "far from the old policy",
        (9, 40),
        "logp and old are 3 apart. With A > 0 the ratio is bounded above alone, with A < 0 below alone: the smaller "
        "of the two products counts.",
        spread=3.0,
    ),
    Row(
        "the ratio overflows",
        (4, 8),
        "logp - old is up to 9999 with A > 0. e^89 is infinite, and clipped it is 1 + clip. Its gradient is 0.",
        change=_differences(*OVERFLOW, advantage=(0.7, 1.3, 0.2, 2.0)),
    ),
    Row(
        "advantage 0",
        (4, 8),
        "A is 0 in rows 0 and 2, where the ratio overflows: 0 · inf is NaN, and the term is 0.",
        change=_differences(*OVERFLOW, advantage=(0.0, 0.9, -0.0, 1.1)),
    ),
    Row(
        "the ratio underflows",
        (4, 8),
        "logp - old is down to -9999, the ratio is 0: with A > 0 so is the term, with A < 0 it is (1 - clip) A.",
        change=_differences(*SHRUNK, advantage=(0.7, -1.3, 0.2, -2.0)),
    ),
    Row(
        "a negative advantage and a large ratio",
        (3, 8),
        "With A < 0 nothing bounds the ratio above: it is e^80 here, and the loss as large.",
        change=_differences(*LARGE, advantage=(-0.7, -1.3, 0.4)),
    ),
    Row(
        "NaN and infinity where nothing counts",
        (6, 45),
        "What does not count holds NaN and infinity: no sum, no product with 0 and no comparison may meet it.",
        change=_poisoned,
    ),
    Row(
        "NaN in one token",
        (6, 45),
        "A NaN that counts makes the loss NaN and its own gradient, and no other token's. (A comparison with NaN is "
        "False, and tl.minimum of Triton drops it.)",
        change=_one_nan,
    ),
    Row("1 token a sample", (70, 1), "One token a sample: the policy gradient of a bandit."),
    Row("17 tokens a sample", (9, 17), "17 tokens in a block of 32: the other 15 lanes add nothing."),
    # Few of these many tokens are clipped: errors of a sum of equal numbers do not walk at random.
    Row("1000 tokens a sample", (3, 1000), "1000 tokens leave 24 lanes of a block of 1024 empty.", spread=0.1),
    Row(
        "8193 tokens a sample",
        (2, 8193),
        "One token more than 8192, several blocks: is every part of the sum added?",
        spread=0.1,
    ),
    Row("many samples", (300, 6), "300 samples of 6 tokens. Does every one find a program?"),
    Row("as in training", (24, 1536), "24 samples of up to 1536 tokens. Every tensor can be read once.", spread=0.1),
    Row(
        "transposed",
        (37, 23),
        "All transposed: a sample's tokens are not neighbours in memory.",
        views=(transposed,) * 3,
    ),
    Row(
        "every second token",
        (9, 101),
        "The stride of the last dimension is 2, also of the mask.",
        views=(every_second,) * 3,
    ),
    Row(
        "strides of their own",
        (9, 70),
        f"{EACH} logp has gaps between its rows, old is transposed, and the mask is one row for all, at stride 0.",
        views=(with_gaps, transposed, _one_for_all),
    ),
    Row(BEYOND, (3, 70), BEYOND_HINT, views=(far_apart,) * 3, dtypes=HALF[0]),
    Row("float16", (6, 200), CONVERT, spread=1.0, dtypes=HALF[0]),
    Row("bfloat16", (6, 200), CONVERT, spread=1.0, dtypes=HALF[1]),
    Row(
        "bfloat16 with an old of float32",
        (6, 90),
        f"logp is bfloat16 and old float32. {CONVERT}",
        dtypes=(BF16, F32, F32),
    ),
    Row("everything bfloat16", (6, 90), f"The advantage is bfloat16, too. {CONVERT}", dtypes=(BF16, BF16, BF16)),
)


def _forward(row: Row) -> Case:
    return Case(row.name, row.draw, row.hint, convention=row.convention)


def _backward(row: Row, dloss: float | None = None) -> Case:
    def inputs(generator: Generator) -> Args:
        args = row.draw(generator)
        drawn = normal(generator, ()) * 0.8 - 0.1
        return drawn if dloss is None else torch.tensor(dloss), *args

    return Case(row.name, inputs, row.hint, convention=row.convention)


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
_TOKEN = ("some tokens count", "samples of unequal length", "nothing counts", "count = 0 and tokens")
_POINT = (*_TOKEN, "advantage 0", "NaN and infinity where nothing counts")


def _bytes(logp: Tensor, old: Tensor, advantage: Tensor, mask: Tensor) -> int:
    """Bytes of the inputs."""
    return sum(x.numel() * x.element_size() for x in (logp, old, advantage, mask))


policy_loss_forward = Exercise(
    name="policy_loss_forward",
    summary="-Σ min(ρA, clamp(ρ, 1 - clip, 1 + clip) A) / count over the tokens where mask is True, ρ = e^(logp - old)",
    oracle=loss_of,
    outputs=(Output("loss", torch.float32),),
    cases=tuple(_forward(row) for row in ROWS),
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

policy_loss_backward = Exercise(
    name="policy_loss_backward",
    summary="dlogp = -dloss ρA / count where mask is True and ρA <= clamp(ρ) A, 0 elsewhere",
    oracle=gradient_of,
    outputs=(Output("dlogp", "logp"),),
    cases=(
        *(_backward(row) for row in ROWS),
        _backward(
            Row("a dloss of 1e-8", (7, 50), "dloss is 1e-8: what comes out is as small, with as many digits."), 1e-8
        ),
        _backward(Row("a dloss of 0", (7, 50), "dloss is 0, and so is every gradient."), 0.0),
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
    about=_POINT,
)
