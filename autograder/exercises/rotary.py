"""Rotary position embedding. Cases: positions in bfloat16 (transformers#25681, #29285, diffusers#13920), rows that were
skipped (fla#967), and strides that were not asked for (unsloth#3782).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ...kernels.wild import rotary as wild
from ..judge import Arguments, Case, CommonMistake, Exercise, Floors, Output, Tolerance, Values, WildBug, case, draw
from .cases.rounding import EPS, floors
from .cases.wording import AGAIN, BEYOND, KEEP_NOTHING, NAN_IN, STEP_BY_STEP

LARGEST = 2**20  # of the positions


def pairs_of(x: Tensor, interleaved: bool) -> tuple[Tensor, Tensor]:
    """The first and the second element of every pair."""
    return (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :])


def from_pairs(first: Tensor, second: Tensor, interleaved: bool) -> Tensor:
    """Returns what `pairs_of` takes apart."""
    return torch.stack((first, second), -1).flatten(-2) if interleaved else torch.cat((first, second), -1)


def angles(positions: Tensor, inv_freq: Tensor) -> Tensor:
    """(B, 1, M, D / 2) in float64, exact: a position has at most 21 bits and a float32 has 24."""
    return (positions.double().unsqueeze(-1) * inv_freq.double()).unsqueeze(1)


def rotary(x: Tensor, positions: Tensor, inv_freq: Tensor, interleaved: bool = False) -> Tensor:
    """Every pair turned by position · inv_freq."""
    angle, (first, second) = angles(positions, inv_freq), pairs_of(x, interleaved)
    cos, sin = angle.cos(), angle.sin()
    return from_pairs(first * cos - second * sin, second * cos + first * sin, interleaved)


def rotary_gradient(dy: Tensor, positions: Tensor, inv_freq: Tensor, interleaved: bool = False) -> Tensor:
    """Every pair turned back."""
    return rotary(dy, -positions, inv_freq, interleaved)


def swapped(x: Tensor, interleaved: bool) -> Tensor:
    """The other element of every pair."""
    first, second = pairs_of(x, interleaved)
    return from_pairs(second, first, interleaved)


def exact_floor(x: Tensor, positions: Tensor, inv_freq: Tensor, interleaved: bool = False) -> Floors:
    """Sine and cosine of an angle between -π and π, which is rounded, and two products that may cancel."""
    return floors(5 * EPS * (x.abs() + swapped(x, interleaved).abs()))


def floor(x: Tensor, positions: Tensor, inv_freq: Tensor, interleaved: bool = False) -> Floors:
    """An angle that is a float32 is off by half an ulp of itself, and by three halves where it is made of turns; the
    slope of an element of y over the angle is the other one of its pair.
    """
    angle = angles(positions, inv_freq).abs()
    off = 2 * EPS * from_pairs(angle, angle, interleaved)
    y = rotary(x, positions, inv_freq, interleaved).abs()
    (rounded,) = exact_floor(x, positions, inv_freq, interleaved)
    return floors(rounded + off * (swapped(y, interleaved) + off * y))


def gradient_floor(dy: Tensor, positions: Tensor, inv_freq: Tensor, interleaved: bool = False) -> Floors:
    """The same of the rotation back."""
    return floor(dy, -positions, inv_freq, interleaved)


Positions = Callable[[int, int], Values]  # of B sequences of M tokens


def counted(begin: int = 0) -> Positions:
    """begin, begin + 1, ... in each sequence."""
    return lambda b, m: draw.by(lambda generator: begin + torch.arange(m).repeat(b, 1))


def drawn(low: int, high: int) -> Positions:
    """Any positions, in any order."""
    return lambda b, m: draw.integers(b, m, low=low, high=high)


def padded(b: int, m: int) -> Values:
    """Sequences that end together, with 0, 3, 6, ... tokens of padding on the left, at positions below 0."""
    return draw.by(lambda generator: torch.arange(m) - 3 * torch.arange(b).unsqueeze(1))


def packed(b: int, m: int) -> Values:
    """Several sequences one behind the other in each row: every one begins at 0."""
    return draw.by(lambda generator: torch.arange(m) % (3 + 2 * torch.arange(b).unsqueeze(1)))


def shared_by_all(b: int, m: int) -> Values:
    """One row of positions for all sequences, at stride 0."""
    return counted(5)(b, m).one_row()


def strided(b: int, m: int) -> Values:
    """Positions whose rows and columns both have strides of their own."""
    return draw.integers(m, 2 * b, low=0, high=5000).view(lambda table: table.t()[::2])


Frequencies = Callable[[int], Values]  # of D / 2 pairs


def usual(base: float = 10_000.0) -> Frequencies:
    """base^(-2i / D), as in the paper."""
    return lambda half: draw.by(lambda generator: (base ** (-torch.arange(half, dtype=torch.float64) / half)).float())


def without_formula(half: int) -> Values:
    """Any frequencies, and not in order."""
    return draw.uniform(half).plus(2.0**-7)


def heads_before_tokens(x: Tensor) -> Tensor:
    """The same numbers as they lie after ``view(B, M, H, D).transpose(1, 2)``."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def one_for_all_heads(x: Tensor) -> Tensor:
    """The first head for all of them, at stride 0."""
    return x[:, :1].expand(x.shape)


FROM_0, USUAL = counted(), usual()
BF16, F16 = torch.bfloat16, torch.float16
PAST = (
    "bfloat16 has 8 bits: past 256 it has every second integer, past 65,536 every 512th. A position that is rounded is "
    "another position. In which dtype do you multiply it by inv_freq? float32 has every integer up to 2^24."
)
CONVERT = "Convert to float32 first, turn there, and round once at the end. The angle is never half precision."
INTERLEAVED = "interleaved is True: pair i is (2i, 2i + 1), in what is read and in what is written."


def cases(turned: str, values: Callable[..., Values]) -> tuple[Case, ...]:
    """The cases of the rotation of the tensor ``turned`` (B, H, M, D), whose numbers ``values`` draws."""

    def ask(
        name: str,
        hint: str,
        shape: tuple[int, int, int, int],
        changed: Values = draw.same,
        positions: Positions = FROM_0,
        frequencies: Frequencies = USUAL,
        **more: Any,
    ) -> Case:
        b, _, m, d = shape
        arguments = Arguments.named(**{turned: values(*shape)}, positions=positions(b, m), inv_freq=frequencies(d // 2))
        return case(name, hint, arguments.each(changed, turned), **more)

    return (
        ask(
            "ordinary values",
            "Begin here: 2 sequences of 9 tokens, 3 heads of 16 numbers, at positions 0 to 8. " + STEP_BY_STEP,
            (2, 3, 9, 16),
        ),
        ask(AGAIN, KEEP_NOTHING, (2, 3, 9, 16)),
        ask("interleaved", INTERLEAVED, (2, 3, 9, 16), interleaved=True),
        ask("positions past 256, bfloat16", PAST, (2, 2, 24, 32), draw.same.to(BF16), positions=drawn(257, 2047)),
        ask(
            "positions from 65,536 on",
            "float32, as image tokens were numbered. Neighbours differ by one position: is it lost on the way to the "
            "angle? " + PAST,
            (1, 2, 40, 32),
            positions=counted(65_536),
        ),
        ask(
            "positions past 65,504, float16",
            "The largest float16 is 65,504: a position in float16 is infinite here, and its cosine NaN.",
            (2, 2, 20, 16),
            draw.same.to(F16),
            positions=drawn(65_520, 131_071),
        ),
        ask(
            "positions up to 2^20",
            "Positions up to 1,048,576. The angle may be a float32, off by half an ulp, but no more is rounded.",
            (2, 2, 30, 16),
            positions=drawn(500_000, LARGEST),
        ),
        ask(
            "negative positions",
            "Padding on the left is at positions below 0. They are positions like any other: the pair is turned the "
            "other way. Is every row written?",
            (4, 2, 12, 16),
            positions=padded,
        ),
        ask(
            "negative positions, interleaved",
            "Positions down to -2^20, and pairs of neighbours. Is every row written?",
            (3, 1, 10, 12),
            positions=drawn(-LARGEST, -1),
            interleaved=True,
        ),
        ask(
            "packed sequences",
            "Several short sequences in each row, each of which begins at position 0, in every row elsewhere: the "
            "position is read, for this sequence and this token, and not counted.",
            (3, 2, 20, 16),
            positions=packed,
        ),
        ask(
            "positions in any order",
            "Positions are drawn: neither in order nor the same in each sequence.",
            (3, 2, 17, 8),
            positions=drawn(0, 4096),
        ),
        ask(
            "frequencies without a formula",
            "inv_freq is given and not 10000^(-2i / D): long contexts change it. Is it read, and each for its own "
            "pair?",
            (2, 2, 11, 24),
            positions=drawn(0, 512),
            frequencies=without_formula,
        ),
        ask(
            "base 500,000",
            "The frequencies of Llama 3, with base 500,000.",
            (1, 2, 13, 64),
            positions=drawn(0, 8191),
            frequencies=usual(500_000.0),
        ),
        ask("position 0", "At position 0 nothing is turned: y is x.", (1, 2, 1, 8)),
        ask("one pair", "D is 2: one pair, and both layouts are the same.", (2, 3, 5, 2)),
        ask("3 pairs", "D is 6: 3 pairs in a block of 4. What does the fourth lane read and write?", (2, 3, 7, 6)),
        ask("3 pairs, interleaved", INTERLEAVED + " 3 pairs in a block of 4.", (2, 3, 7, 6), interleaved=True),
        ask("40 pairs", "D is 80, as in some models: 40 pairs are no power of two.", (1, 2, 5, 80)),
        ask("128 pairs", "Heads of 256 numbers. Is every pair turned?", (1, 2, 3, 256)),
        ask("one head", "One head, as keys and values have in multi-query attention.", (3, 1, 6, 16)),
        ask("33 heads", "33 heads: where a program takes several, the last one has fewer.", (1, 33, 2, 128)),
        ask("300 tokens", "300 tokens: does every one find a program?", (2, 2, 300, 8)),
        ask("no tokens", "No tokens go in, no tokens come out.", (2, 3, 0, 16)),
        ask("no sequences", "No sequences go in, none come out.", (0, 3, 5, 16)),
        ask("float16", CONVERT, (2, 2, 20, 32), draw.same.to(F16)),
        ask("bfloat16", CONVERT, (2, 2, 20, 32), draw.same.to(BF16)),
        ask("bfloat16, interleaved", CONVERT, (2, 2, 20, 32), draw.same.to(BF16), interleaved=True),
        ask(
            "heads before tokens in memory",
            "(B, M, H, D) in memory, seen as (B, H, M, D): what a projection gives. The strides of heads and tokens "
            "are not in the usual order, and `torch.empty_like` copies them: store the result with its own.",
            (2, 3, 7, 16),
            draw.same.view(heads_before_tokens),
        ),
        ask(
            "one head for all",
            "All heads are one in memory: the stride of the heads is 0. Who writes where it reads turns that one again "
            "and again. (`x.is_contiguous` without parentheses is a method, and a method is true.)",
            (2, 4, 7, 16),
            draw.same.view(one_for_all_heads),
        ),
        ask(
            "one number for all",
            "What .sum() hands back: one number for the whole shape, and every stride is 0.",
            (2, 2, 5, 16),
            draw.same.one_number(),
        ),
        ask("transposed", "The last two dimensions are transposed in memory.", (2, 2, 9, 14), draw.same.transposed()),
        ask(
            "rows with gaps", "The rows are 47 apart in memory, NaN between them.", (2, 2, 9, 14), draw.same.with_gaps()
        ),
        ask(
            "every second number",
            "The stride of the last dimension is 2: a pair is not where it is in a contiguous tensor.",
            (2, 2, 9, 14),
            draw.same.every_second(),
            interleaved=True,
        ),
        ask(
            "one row of positions for all",
            "The positions of all sequences are one row in memory: positions.stride() is (0, 1).",
            (3, 2, 8, 16),
            positions=shared_by_all,
        ),
        ask(
            "positions with strides",
            "positions are a part of a transposed table: they have strides of their own.",
            (3, 2, 8, 16),
            positions=strided,
        ),
        ask(
            BEYOND,
            "The sequences lie 2^30 elements apart in memory. For the third, b * x.stride(0) is 2^31, more than an "
            "int32 holds: in a kernel make the index an int64 first, as in `tl.program_id(0).to(tl.int64)`.",
            (3, 1, 3, 32),
            draw.same.to(F16).far_apart(),
        ),
        ask(
            "tiny values",
            "Numbers of about 1e-8: what comes out is as small, with as many digits.",
            (2, 2, 9, 16),
            draw.same.scale(1e-8),
        ),
        ask("values of thousands", "Numbers of thousands.", (2, 2, 9, 16), draw.same.scale(3e3)),
        ask(
            "NaN in one pair",
            "One NaN: both numbers of its own pair are NaN, and no others.",
            (2, 2, 5, 16),
            draw.same.put(torch.nan, 1, 0, 2, 3),
        ),
        ask(
            "NaN in inv_freq",
            NAN_IN.format("inv_freq"),
            (2, 2, 5, 16),
            frequencies=lambda half: usual()(half).put(torch.nan, 3),
        ),
        ask(
            "every second of halves",
            "The stride of the last dimension is 2: the second half does not begin D / 2 numbers further.",
            (2, 2, 9, 14),
            draw.same.every_second(),
        ),
        ask(
            "distinction: the angle to its last digit",
            "At position 2^20 a float32 has steps of 1/16 radian. Where does the angle have more digits than that, and "
            "when do you take the whole turns out of it?",
            (2, 2, 30, 16),
            positions=drawn(500_000, LARGEST),
            bonus=True,
        ),
    )


HALF = WildBug(
    who="transformers 4.31 to 4.37, in a model converted as a whole,",
    thread="huggingface/transformers#25681",
    function=wild.rotary_half_positions,
    seen_by="positions past 256, bfloat16",
    story="Positions had the dtype of inv_freq, and that the dtype of the model: past 256, bfloat16 counts in twos.",
)
AUTOCAST = WildBug(
    who="transformers 4.38.0 and 4.38.1, and diffusers, under autocast",
    thread="huggingface/transformers#29285, huggingface/diffusers#13920",
    function=wild.rotary_autocast,
    seen_by="positions from 65,536 on",
    story="Both factors were float32, but a product of matrices is what autocast computes in bfloat16: 40 neighbours "
    "are one position.",
)
SKIPPED = WildBug(
    who="flash-linear-attention 0.2.2 to 0.5.1",
    thread="fla-org/flash-linear-attention#967",
    function=wild.rotary_skips_negative,
    seen_by="negative positions",
    story="Rows at negative positions were masked off in the store, and the result came from empty_like.",
)
HALVES = CommonMistake(
    who="pairs (i, i + D / 2), whatever interleaved says,",
    function=wild.rotary_always_halves,
    seen_by="interleaved",
    story="Weights that were trained for one layout give nonsense in the other, and every shape is right.",
)

REASON = (
    "An angle may be the float32 product of position and inv_freq, off by half an ulp of itself, or by three halves "
    "where it is made of turns; near position 2^20 an ulp is 1/16 radian. Sine, cosine and two products that may "
    "cancel: a few ulp of float32."
)
POINT = (
    *("interleaved", "3 pairs, interleaved", "positions past 256, bfloat16", "positions from 65,536 on"),
    *("positions up to 2^20", "negative positions", "negative positions, interleaved"),
    *("positions past 65,504, float16",),
)


def least_bytes(x: Tensor, positions: Tensor, inv_freq: Tensor, interleaved: bool = False) -> int:
    """x and y once, and for each row of D numbers its position and all frequencies."""
    rows = x.shape[0] * x.shape[1] * x.shape[2]
    return 2 * x.numel() * x.element_size() + rows * (8 + 4 * inv_freq.numel())


rotary_forward = Exercise(
    name="rotary_forward",
    summary="y = every pair of x (B, H, M, D) turned by positions · inv_freq radians; pairs are halves or interleaved",
    oracle=rotary,
    outputs=(Output("y"),),
    cases=cases("x", draw.normal),
    tolerance=Tolerance(1, 8, REASON, floor, exact_floor),
    hint="One angle for each token and pair, in float32 or more; then two products for each of the two numbers.",
    wild=(HALF, AUTOCAST, SKIPPED, HALVES),
    points=3,
    least_bytes=least_bytes,
    traffic=1.05,
    about=POINT,
)

HALF_GRADIENT = replace(HALF, function=wild.rotary_backward_half_positions)
AUTOCAST_GRADIENT = replace(AUTOCAST, function=wild.rotary_backward_autocast)
IN_PLACE = WildBug(
    who="unsloth 2025.12.4 to 2025.12.9",
    thread="unslothai/unsloth#3782",
    function=wild.rotary_backward_in_place,
    seen_by="one head for all",
    story="is_contiguous without parentheses: dy was turned where it lay, once for each head that shares the memory.",
)
ONWARD = CommonMistake(
    who="the gradient turned onward, not back,",
    function=wild.rotary_backward_forward,
    seen_by="ordinary values",
    story="The gradient of a rotation is the rotation back: its transpose.",
)
HALVES_GRADIENT = replace(HALVES, function=wild.rotary_backward_always_halves)

rotary_backward = Exercise(
    name="rotary_backward",
    summary="dx = every pair of dy turned back, by -positions · inv_freq radians",
    oracle=rotary_gradient,
    outputs=(Output("dx", "dy"),),
    cases=cases("dy", draw.gradient),
    tolerance=Tolerance(1, 8, REASON, gradient_floor, exact_floor),
    hint="A rotation is linear: which matrix is its transpose?",
    refused=frozenset({"autograd"}),
    wild=(HALF_GRADIENT, AUTOCAST_GRADIENT, IN_PLACE, ONWARD, HALVES_GRADIENT),
    points=2,
    least_bytes=least_bytes,
    traffic=1.05,
    forward=rotary_forward,
    about=(*POINT, "one head for all"),
)
