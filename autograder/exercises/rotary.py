"""Rotary position embedding. Cases: positions in bfloat16 (transformers#25681, #29285, diffusers#13920), rows that were
skipped (fla#967), and strides that were not asked for (unsloth#3782).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Generator, Tensor

from ...kernels.wild import rotary as wild
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
    one_number,
    transposed,
    with_gaps,
)
from .cases.elementwise import BEYOND, gradient, normal
from .cases.rows import floors
from .record import Case, CommonMistake, Exercise, Floors, Output, Tolerance, WildBug

LARGEST = 2**20  # of the positions


def pairs_of(x: Tensor, interleaved: bool) -> tuple[Tensor, Tensor]:
    """The first and the second element of every pair."""
    return (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :])


def from_pairs(first: Tensor, second: Tensor, interleaved: bool) -> Tensor:
    """What `pairs_of` takes apart."""
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


Positions = Callable[[Generator, int, int], Tensor]  # (generator, B, M) -> (B, M)


def counted(begin: int = 0, step: int = 1) -> Positions:
    """begin, begin + step, ... in each sequence."""
    return lambda generator, b, m: begin + step * torch.arange(m).repeat(b, 1)


def drawn(smallest: int, largest: int) -> Positions:
    """Any positions, in any order."""
    return lambda generator, b, m: torch.randint(smallest, largest + 1, (b, m), generator=generator)


def padded(generator: Generator, b: int, m: int) -> Tensor:
    """Sequences that end together, with 0, 3, 6, ... tokens of padding on the left, at positions below 0."""
    return torch.arange(m) - 3 * torch.arange(b).unsqueeze(1)


def packed(generator: Generator, b: int, m: int) -> Tensor:
    """Several sequences one behind the other in each row: every one begins at 0."""
    lengths = 3 + 2 * torch.arange(b).unsqueeze(1)
    return torch.arange(m) % lengths


def shared_by_all(generator: Generator, b: int, m: int) -> Tensor:
    """One row of positions for all sequences, at stride 0."""
    return torch.arange(5, 5 + m).expand(b, m)


def strided(generator: Generator, b: int, m: int) -> Tensor:
    """Positions whose rows and columns both have strides of their own."""
    return drawn(0, 5000)(generator, m, 2 * b).t()[::2]


def usual(generator: Generator, half: int, base: float = 10_000.0) -> Tensor:
    """base^(-2i / D), as in the paper."""
    return (base ** (-torch.arange(half, dtype=torch.float64) / half)).float()


def any_frequencies(generator: Generator, half: int) -> Tensor:
    """No formula, and not in order."""
    return torch.rand(half, generator=generator) + 2.0**-7


def heads_before_tokens(x: Tensor) -> Tensor:
    """The same numbers as they lie after ``view(B, M, H, D).transpose(1, 2)``."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def one_for_all_heads(x: Tensor) -> Tensor:
    """The first head for all of them, at stride 0."""
    return x[:, :1].expand(x.shape)


@dataclass(frozen=True)
class Row:
    """One case: x of ``shape`` (B, H, M, D)."""

    name: str
    shape: tuple[int, int, int, int]
    hint: str
    positions: Positions = counted()
    interleaved: bool = False
    dtype: torch.dtype = torch.float32
    view: View = as_it_is
    frequencies: Callable[[Generator, int], Tensor] = usual
    change: Callable[[Tensor], Tensor] = as_it_is  # of the values of x
    bonus: bool = False

    def case(self, draw: Callable[..., Tensor]) -> Case:
        """The case in which ``draw`` makes x, or dy."""

        def inputs(generator: Generator) -> Args:
            b, _, m, d = self.shape
            x = self.view(self.change(draw(generator, self.shape, self.dtype)))
            given = x, self.positions(generator, b, m), self.frequencies(generator, d // 2)
            return (*given, True) if self.interleaved else given

        return Case(self.name, inputs, self.hint, bonus=self.bonus)


def _one_nan(x: Tensor) -> Tensor:
    x[1, 0, 2, 3] = torch.nan
    return x


BF16, F16 = torch.bfloat16, torch.float16
PAST = (
    "bfloat16 has 8 bits: past 256 it has every second integer, past 65,536 every 512th. A position that is rounded is "
    "another position. In which dtype do you multiply it by inv_freq? float32 has every integer up to 2^24."
)
CONVERT = "Convert to float32 first, turn there, and round once at the end. The angle is never half precision."
INTERLEAVED = "interleaved is True: pair i is (2i, 2i + 1), in what is read and in what is written."

ROWS = (
    Row(
        "ordinary values",
        (2, 3, 9, 16),
        "Begin here: 2 sequences of 9 tokens, 3 heads of 16 numbers, at positions 0 to 8. " + STEP_BY_STEP,
    ),
    Row(AGAIN, (2, 3, 9, 16), KEEP_NOTHING),
    Row("interleaved", (2, 3, 9, 16), INTERLEAVED, interleaved=True),
    Row(
        "positions past 256, bfloat16",
        (2, 2, 24, 32),
        PAST,
        positions=drawn(257, 2047),
        dtype=BF16,
    ),
    Row(
        "positions from 65,536 on",
        (1, 2, 40, 32),
        "float32, as image tokens were numbered. Neighbours differ by one position: is it lost on the way to the "
        "angle? " + PAST,
        positions=counted(65_536),
    ),
    Row(
        "positions past 65,504, float16",
        (2, 2, 20, 16),
        "The largest float16 is 65,504: a position in float16 is infinite here, and its cosine NaN.",
        positions=drawn(65_520, 131_071),
        dtype=F16,
    ),
    Row(
        "positions up to 2^20",
        (2, 2, 30, 16),
        "Positions up to 1,048,576. The angle may be a float32, off by half an ulp, but no more is rounded.",
        positions=drawn(500_000, LARGEST),
    ),
    Row(
        "negative positions",
        (4, 2, 12, 16),
        "Padding on the left is at positions below 0. They are positions like any other: the pair is turned the other "
        "way. Is every row written?",
        positions=padded,
    ),
    Row(
        "negative positions, interleaved",
        (3, 1, 10, 12),
        "Positions down to -2^20, and pairs of neighbours. Is every row written?",
        positions=drawn(-LARGEST, -1),
        interleaved=True,
    ),
    Row(
        "packed sequences",
        (3, 2, 20, 16),
        "Several short sequences in each row, each of which begins at position 0, in every row elsewhere: the position "
        "is read, for this sequence and this token, and not counted.",
        positions=packed,
    ),
    Row(
        "positions in any order",
        (3, 2, 17, 8),
        "Positions are drawn: neither in order nor the same in each sequence.",
        positions=drawn(0, 4096),
    ),
    Row(
        "frequencies without a formula",
        (2, 2, 11, 24),
        "inv_freq is given and not 10000^(-2i / D): long contexts change it. Is it read, and each for its own pair?",
        frequencies=any_frequencies,
        positions=drawn(0, 512),
    ),
    Row(
        "base 500,000",
        (1, 2, 13, 64),
        "The frequencies of Llama 3, with base 500,000.",
        frequencies=lambda generator, half: usual(generator, half, 500_000.0),
        positions=drawn(0, 8191),
    ),
    Row("position 0", (1, 2, 1, 8), "At position 0 nothing is turned: y is x."),
    Row("one pair", (2, 3, 5, 2), "D is 2: one pair, and both layouts are the same."),
    Row("3 pairs", (2, 3, 7, 6), "D is 6: 3 pairs in a block of 4. What does the fourth lane read and write?"),
    Row("3 pairs, interleaved", (2, 3, 7, 6), INTERLEAVED + " 3 pairs in a block of 4.", interleaved=True),
    Row("40 pairs", (1, 2, 5, 80), "D is 80, as in some models: 40 pairs are no power of two."),
    Row("128 pairs", (1, 2, 3, 256), "Heads of 256 numbers. Is every pair turned?"),
    Row("one head", (3, 1, 6, 16), "One head, as keys and values have in multi-query attention."),
    Row("33 heads", (1, 33, 2, 128), "33 heads: where a program takes several, the last one has fewer."),
    Row("300 tokens", (2, 2, 300, 8), "300 tokens: does every one find a program?"),
    Row("no tokens", (2, 3, 0, 16), "No tokens go in, no tokens come out."),
    Row("no sequences", (0, 3, 5, 16), "No sequences go in, none come out."),
    Row("float16", (2, 2, 20, 32), CONVERT, dtype=F16),
    Row("bfloat16", (2, 2, 20, 32), CONVERT, dtype=BF16),
    Row("bfloat16, interleaved", (2, 2, 20, 32), CONVERT, dtype=BF16, interleaved=True),
    Row(
        "heads before tokens in memory",
        (2, 3, 7, 16),
        "(B, M, H, D) in memory, seen as (B, H, M, D): what a projection gives. The strides of heads and tokens are "
        "not in the usual order.",
        view=heads_before_tokens,
    ),
    Row(
        "one head for all",
        (2, 4, 7, 16),
        "All heads are one in memory: the stride of the heads is 0. Who writes where it reads turns that one again and "
        "again. (`x.is_contiguous` without parentheses is a method, and a method is true.)",
        view=one_for_all_heads,
    ),
    Row(
        "one number for all",
        (2, 2, 5, 16),
        "What .sum() hands back: one number for the whole shape, and every stride is 0.",
        view=one_number,
    ),
    Row("transposed", (2, 2, 9, 14), "The last two dimensions are transposed in memory.", view=transposed),
    Row("rows with gaps", (2, 2, 9, 14), "The rows are 47 apart in memory, NaN between them.", view=with_gaps),
    Row(
        "every second number",
        (2, 2, 9, 14),
        "The stride of the last dimension is 2: a pair is not where it is in a contiguous tensor.",
        view=every_second,
        interleaved=True,
    ),
    Row(
        "one row of positions for all",
        (3, 2, 8, 16),
        "The positions of all sequences are one row in memory: positions.stride() is (0, 1).",
        positions=shared_by_all,
    ),
    Row(
        "positions with strides",
        (3, 2, 8, 16),
        "positions are a part of a transposed table: they have strides of their own.",
        positions=strided,
    ),
    Row(
        BEYOND,
        (3, 1, 3, 32),
        "The sequences lie 2^30 elements apart in memory. For the third, b * x.stride(0) is 2^31, more than an int32 "
        "holds: in a kernel make the index an int64 first, as in `tl.program_id(0).to(tl.int64)`.",
        view=far_apart,
        dtype=F16,
    ),
    Row(
        "tiny values",
        (2, 2, 9, 16),
        "Numbers of about 1e-8: what comes out is as small, with as many digits.",
        change=lambda x: x * 1e-8,
    ),
    Row("values of thousands", (2, 2, 9, 16), "Numbers of thousands.", change=lambda x: x * 3e3),
    Row(
        "NaN in one pair",
        (2, 2, 5, 16),
        "One NaN: both numbers of its own pair are NaN, and no others.",
        change=_one_nan,
    ),
    Row(
        "distinction: the angle to its last digit",
        (2, 2, 30, 16),
        "At position 2^20 a float32 has steps of 1/16 radian. Where does the angle have more digits than that, and "
        "when do you take the whole turns out of it?",
        positions=drawn(500_000, LARGEST),
        bonus=True,
    ),
)


def drawn_gradient(generator: Generator, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """dy: random, signed, with zeros."""
    return gradient(generator, shape, dtype)


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
    *("interleaved", "positions past 256, bfloat16", "positions from 65,536 on", "positions up to 2^20"),
    *("negative positions", "positions past 65,504, float16"),
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
    cases=tuple(row.case(normal) for row in ROWS),
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
    cases=tuple(row.case(drawn_gradient) for row in ROWS),
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
