"""The entropy of a softmax over the rows of a matrix of logits. Cases: trl#7221, and its two cures #7252 and #7224."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from ...kernels.wild import entropy as wild
from ..run.contract import Args
from ..run.dtypes import dtype_name
from ..run.huge_strides import far_apart
from .cases.common import (
    AGAIN,
    EPS,
    HALVES,
    KEEP_NOTHING,
    STEP_BY_STEP,
    View,
    as_it_is,
    every_second,
    leaning_walk,
    one_number,
    transposed,
    with_gaps,
)
from .cases.elementwise import BEYOND, BEYOND_HINT, gradient, normal
from .cases.losses import CONVERT, SCALE
from .cases.rows import floors
from .record import Case, CommonMistake, Exercise, Floors, Output, Tolerance, WildBug

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


def drawn(
    m: int, v: int, dtype: torch.dtype = torch.float32, scale: float = SCALE, shift: float = 0.0
) -> Callable[[Generator], Tensor]:
    """Normal logits around ``shift``."""
    return lambda generator: (normal(generator, (m, v), scale=scale) + shift).to(dtype)


def listed(*rows: tuple[float, ...], dtype: torch.dtype = torch.float32) -> Callable[[Generator], Tensor]:
    """The logits as they stand here."""
    return lambda generator: torch.tensor(rows, dtype=dtype)


def masked(generator: Generator) -> Tensor:
    """(8, 90) of which 40 % are -inf; in rows 6 and 7 one class is possible, in the others at least one. No other row
    is nearly certain, so that what cancels there costs no digits here.
    """
    logits = normal(generator, (8, 90), scale=1.0)
    hidden = torch.rand(logits.shape, generator=generator) < 0.4
    hidden[:, 17], hidden[6:] = False, True
    logits[hidden] = -INF
    logits[6:, 17] = torch.tensor([-12.0, -1e4])
    return logits


def row_of_nothing(generator: Generator) -> Tensor:
    """(5, 40), row 2 of which is -inf alone."""
    logits = normal(generator, (5, 40), scale=SCALE)
    logits[2] = -INF
    return logits


def around_9000(generator: Generator) -> Tensor:
    """(6, 100), three rows around 9000 and three around -9000."""
    return normal(generator, (6, 100)) + torch.tensor([9e3, 9e3, 9e3, -9e3, -9e3, -9e3]).unsqueeze(1)


def masked_block(generator: Generator) -> Tensor:
    """(2, 40,000), the first 32,768 of which are -inf, as many as a block may have."""
    logits = normal(generator, (2, 40_000), scale=SCALE)
    logits[:, :32_768] = -INF
    return logits


def one_block_possible(generator: Generator) -> Tensor:
    """(2, 20,011): -inf but for the first 200 of row 0 and for the last 200 of row 1."""
    logits = normal(generator, (2, 20_011), scale=SCALE)
    logits[0, 200:], logits[1, :-200] = -INF, -INF
    return logits


def slopes(generator: Generator) -> Tensor:
    """(2, 20,011): row 0 rises from -5 to 5, row 1 falls, so that every block counts."""
    rising = torch.linspace(-5, 5, 20_011)
    return normal(generator, (2, 20_011)) + torch.stack((rising, -rising))


def nearly_certain(generator: Generator) -> Tensor:
    """(5, 80), one class of each row 8 to 40 above the others."""
    logits = normal(generator, (5, 80), scale=0.5)
    logits[range(5), [3, 79, 0, 40, 11]] = torch.tensor([8.0, 12.0, 16.0, 25.0, 40.0])
    return logits


def long_rows(generator: Generator) -> Tensor:
    """Rows longer than a block, near -200; the first half of row 1 is near -10."""
    logits = normal(generator, (3, 8193), scale=SCALE) - 200.0
    logits[1, :4096] += 190.0
    return logits


def one_nan(generator: Generator) -> Tensor:
    """(5, 45) with a NaN in row 2."""
    logits = normal(generator, (5, 45), scale=SCALE)
    logits[2, 11] = NAN
    return logits


class Row(NamedTuple):
    """One case. view: how the logits lie in memory."""

    name: str
    draw: Callable[[Generator], Tensor]
    hint: str
    view: View = as_it_is


IMPOSSIBLE = (
    "p is 0 and log p is -inf, and 0 · -inf is NaN. Which of the two can be replaced before they are multiplied?"
)
ROWS = (
    Row("ordinary values", drawn(7, 128), "Begin here: 7 rows of 128 logits. " + STEP_BY_STEP),
    Row(AGAIN, drawn(7, 128), KEEP_NOTHING),
    Row("masked classes", masked, f"40 % of the logits are -inf, and in rows 6 and 7 all but one: {IMPOSSIBLE}"),
    Row(
        "masked classes, bfloat16",
        lambda generator: masked(generator).bfloat16(),
        f"bfloat16, 40 % of it -inf: {IMPOSSIBLE}",
    ),
    Row(
        "two classes, one of them impossible",
        listed((0.0, -INF), (-INF, 3.0), (-INF, -50.0), (1.0, 1.0)),
        f"(0, -inf): one class has all the probability, and the entropy is 0. Of the other one {IMPOSSIBLE}",
    ),
    Row(
        "float16, 65504 and -65504",
        listed((65504.0, -65504.0), (-65504.0, 65504.0), (65504.0, 65504.0), dtype=torch.float16),
        "Finite logits, and their difference is infinite in float16. Convert to float32 first.",
    ),
    Row(
        "a row of -inf",
        row_of_nothing,
        "Row 2 is -inf alone: its largest logit is -inf, and -inf - -inf is NaN. 0, and lse is -inf.",
    ),
    Row("nothing but -inf", listed((-INF,) * 33, (-INF,) * 33), "No class is possible in any row. 0, and lse is -inf."),
    Row(
        "a first block of -inf",
        masked_block,
        "40,000 logits, the first 32,768 at -inf: whole blocks. What do they leave for the next one (-inf - -inf is "
        "NaN)?",
    ),
    Row(
        "-inf but for 200",
        one_block_possible,
        "20,011 logits, of which the first 200 of row 0 and the last 200 of row 1 are possible.",
    ),
    Row(
        "logits around 9000",
        around_9000,
        "Logits around 9000 and around -9000: lse has a step of 0.001 there. Subtract the largest logit from the whole "
        "row first; then nothing of that size is left in the entropy.",
    ),
    Row(
        "large logits",
        lambda generator: normal(generator, (6, 64), scale=3e3).clamp(-1e4, 1e4),
        "Logits up to 1e4: e^z overflows from 88.7 on, and p is 0 from 104 below the largest one on.",
    ),
    Row(
        "rising and falling",
        slopes,
        "20,011 logits around a line from -5 to 5, and from 5 to -5. In blocks the largest so far changes with every "
        "one: is every sum brought to the new one, Σ e^d · d too, whose d changes itself?",
    ),
    Row(
        "nearly certain",
        nearly_certain,
        "One class has nearly all the probability. H is the sum of small numbers: is a large one subtracted?",
    ),
    Row("equal logits", lambda generator: torch.full((4, 37), -2.5), "Equal logits: H is log 37, and the gradient 0."),
    Row("1 class", drawn(5, 1), "One class: p is 1, H is 0, and so is the gradient."),
    Row("2 classes", drawn(5, 2), "Two classes."),
    Row("3 classes", drawn(5, 3, shift=-80.0), "Rows of 3 in a block of 4: what does the fourth lane add to the sums?"),
    Row(
        "17 classes",
        drawn(5, 17, shift=-20.0),
        "17 logits in a block of 32: what do the other 15 lanes add to the sums?",
    ),
    Row(
        "1000 classes",
        drawn(5, 1000, shift=-20.0),
        "1000 logits leave 24 lanes of a block of 1024 empty. A logit of 0 there would add e^0 = 1.",
    ),
    Row("1025 classes", drawn(5, 1025), "One logit more than 1024. Is it read, is it counted, is it written?"),
    Row("20011 classes", drawn(3, 20_011), "20,011 logits, several blocks: how are their sums put together?"),
    Row("many rows", drawn(300, 6), "300 rows. Does every one get its result?"),
    Row("one row", drawn(1, 515), "One row, of 515 logits."),
    Row("no rows", drawn(0, 33), "No rows go in, no rows come out."),
    Row(
        "3 rows of 8193, every second column",
        long_rows,
        "8193 logits a row at a stride of 2, near -200, in row 1 the first half near -10: where does a maximum start, "
        "and do the strides count in every block?",
        every_second,
    ),
    *(Row(dtype_name(dtype), drawn(6, 384, dtype), CONVERT) for dtype in HALVES),
    Row(
        "one row for all, at stride 0",
        drawn(6, 70),
        "Every row is the same one: logits.stride() is (0, 1).",
        lambda logits: logits[:1].expand(logits.shape),
    ),
    Row("transposed", drawn(37, 53), "A transposed matrix: a row is not contiguous in memory.", transposed),
    Row(
        "rows with gaps",
        drawn(9, 127, torch.bfloat16),
        "bfloat16 rows of 127 logits, 160 apart in memory: a padded vocabulary, seen through a slice.",
        with_gaps,
    ),
    Row(
        "every second column",
        drawn(9, 101, torch.float16),
        "float16 logits, and the stride of the last dimension is 2.",
        every_second,
    ),
    Row(BEYOND, drawn(3, 70, torch.bfloat16), BEYOND_HINT, far_apart),
    Row(
        "NaN in one row",
        one_nan,
        "NaN in gives NaN out, in its own row and in no other. (In Triton, tl.max drops NaN.)",
    ),
)


def _forward(row: Row) -> Case:
    return Case(row.name, lambda generator: (row.view(row.draw(generator)),), row.hint)


def _backward(row: Row, view: View = as_it_is) -> Case:
    """dentropy as ``view`` lays it out, and entropy and lse as forward returns them."""

    def inputs(generator: Generator) -> Args:
        logits = row.view(row.draw(generator))
        entropy, lse = entropy_and_lse(logits.double())
        return view(gradient(generator, lse.shape)), logits, entropy.float(), lse.float()

    return Case(row.name, inputs, row.hint)


UPSTREAM = (
    (
        Row(
            "dentropy of stride 0",
            drawn(29, 67),
            "What .sum() hands back: one number for all rows. dentropy.stride() is (0,).",
        ),
        one_number,
    ),
    (
        Row(
            "tiny dentropy, every second of a longer one",
            drawn(29, 67),
            "dentropy is about 1e-8, as with a mean over many tokens, and dentropy.stride() is (2,). Is it compared "
            "with a constant, and is it read where its stride says?",
        ),
        lambda dentropy: every_second(dentropy * 1e-8),
    ),
)
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
    cases=tuple(_forward(row) for row in ROWS),
    tolerance=Tolerance(1, 8, REASON, forward_floor),
    hint="With d = z - the largest: H = log Σ e^d - Σ e^d d / Σ e^d. Ask what e^d · d is where d is -inf.",
    wild=(FORMULA, BLOCKS, FROM_LSE),
    points=4,
    least_bytes=lambda logits: logits.numel() * logits.element_size() + 8 * len(logits),
    traffic=1.05,
    about=("masked classes", "two classes, one of them impossible", "logits around 9000"),
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
    cases=(*(_backward(row) for row in ROWS), *(_backward(row, view) for row, view in UPSTREAM)),
    tolerance=Tolerance(1, 8, REASON, backward_floor),
    hint="No sum is left to take: lse and H are given. Where z is -inf choose the 0; a product does not give it.",
    refused=frozenset({"autograd"}),
    wild=(BLOCKS_GRADIENT, XLOGY, HIDDEN, AS_IT_STANDS),
    points=4,
    least_bytes=lambda dentropy, logits, entropy, lse: 2 * logits.numel() * logits.element_size() + 12 * len(logits),
    traffic=1.05,
    forward=entropy_forward,
    about=("masked classes", "two classes, one of them impossible"),
)
