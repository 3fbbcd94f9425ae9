"""Blocks of 32 as float8 with a power of two each, bit for bit. Cases: mlx PR#4353, torchao PR#4725.

Open Compute Project, "Microscaling formats (MX) specification", 1.0, 2023.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ...kernels.wild import quantize_mx as wild
from ..judge import (
    Arguments,
    Category,
    CommonMistake,
    Exercise,
    Floors,
    Output,
    Tolerance,
    Values,
    WildBug,
    case,
    draw,
)
from .cases.halves import in_halves
from .cases.suspect import first, suspect
from .cases.wording import AGAIN, BEYOND, BEYOND_HINT, KEEP_NOTHING, STEP_BY_STEP
from .oracles.e4m3 import LARGEST, nearest

E4M3 = torch.float8_e4m3fn
_to_nearest: Callable[..., tuple[Tensor, Tensor]] = wild.quantize_mx_to_nearest
ANY, BORDER, PAST = "any largest value", "at 448 · 2^e, and one step above it", "just above 448 · 2^e"
ZEROS, SMALL, BESIDE = "a block of zeros", "blocks below 2^-119", "zeros and tiny blocks among others"
POINT = (ANY, BORDER, PAST, ZEROS, SMALL, BESIDE)


def blocks(x: Tensor) -> Tensor:
    """(M, N / 32, 32)."""
    v: Tensor = x.unflatten(1, (-1, 32))
    return v


def exponents(x: Tensor) -> Tensor:
    """The smallest e >= -127 of each block with amax <= 448 · 2^e, int64; 128 where the block has a NaN."""
    amax = blocks(x).abs().amax(-1)
    fraction, power = torch.frexp(amax.nan_to_num(1))  # amax = fraction · 2^power, and 448 is 0.875 · 2^9
    e = (power - 9 + (fraction > LARGEST / 512)).masked_fill(amax == 0, -127).clamp(min=-127).long()
    return e.masked_fill(amax.isnan(), 128)


def quantized(x: Tensor) -> tuple[Tensor, Tensor]:
    """q and exponents, as they are stored."""
    e = exponents(x)
    v = torch.ldexp(blocks(x), -e[..., None])
    return nearest(v.clamp(-LARGEST, LARGEST)).flatten(1), (e + 127).to(torch.uint8)


def floor(x: Tensor) -> Floors:
    """Anything beside a NaN in its block, but for the NaN itself."""
    v = blocks(x).isnan()
    beside = v.any(-1, keepdim=True) & ~v
    return torch.zeros(x.shape, dtype=torch.float64).masked_fill(beside.flatten(1), torch.inf), 0.0


def to_largest(x: Tensor, low: float, high: float) -> Tensor:
    """Each block's numbers times a factor, so that its largest lies between low and high times a power of two: places
    that follow the numbers themselves.
    """
    v = blocks(x.double())
    amax = v.abs().amax(-1, keepdim=True)
    share = (amax * 997) % 1  # between 0 and 1, another for each block
    power = torch.frexp(amax).exponent
    return (v / amax * torch.ldexp(low + (high - low) * share, power)).flatten(1).float()


def tame(m: int, n: int) -> Values:
    """Rows of normal numbers, the largest of each block between 330 and 440 times a power of two, where all ways to
    round an exponent agree.
    """
    return draw.normal(m, n).map(lambda x: to_largest(x, 330 / 512, 440 / 512))


def given(m: int, n: int) -> Arguments:
    """Such rows."""
    return Arguments.named(x=tame(m, n))


def border(x: Tensor) -> None:
    """The first element of block j is 448 · 2^(j - 20), in odd rows the float32 number after it."""
    for j in range(x.shape[1] // 32):
        largest = torch.tensor(448.0 * 2.0 ** (j - 20))
        x[:, 32 * j : 32 * j + 32] *= largest / 1000
        x[::2, 32 * j] = largest
        x[1::2, 32 * j] = -torch.nextafter(largest, torch.tensor(math.inf))


def just_above(x: Tensor) -> None:
    """The largest of each block is a little more than 1.75 times a power of two, less than half a step of bfloat16."""
    for j in range(x.shape[1] // 32):
        x[:, 32 * j + 3] = 2.0 ** (j - 5) * torch.tensor([1.7501, 1.7505, -1.753, -1.7503])[: len(x)]


def small(x: Tensor) -> None:
    """Largest numbers of 2^-126 to 2^-111, a row each; where it is below 448 · 2^-127, the exponent stays -127."""
    for row in range(len(x)):
        v = x[row].view(-1, 32)
        v *= 1.7 * 2.0 ** (row - 126) / v.abs().amax(-1, keepdim=True)


def some_tiny(x: Tensor) -> None:
    """Blocks of zeros, of 6.3e-38 and of 1e-44 among others."""
    v = blocks(x)
    v[:, 1], v[:, 3] = 0.0, 0.0
    v[:, 2] *= 6.3e-38
    v[:, 3, 5] = -1e-44


def every_half(dtype: torch.dtype) -> Values:
    """All numbers of a format of 16 bits from 1e-35 to 1e29 (float16: to 53,248), in the order of their bits, 16 of a
    block, the others of which make its largest one on which all ways to round an exponent agree.
    """
    most, most_power = (53248.0, 15) if dtype == torch.float16 else (1e29, 97)

    def ordinary(x: Tensor) -> Tensor:
        size = x.float().abs()
        x = torch.where((size >= 1e-35) & (size <= most), x, torch.ones_like(x)).view(-1, 16)
        above = 2.0 ** torch.frexp(x.float().abs().amax(1)).exponent.clamp(max=most_power)
        return torch.cat((x, (1.625 * above).to(dtype)[:, None].expand(-1, 16)), 1).view(128, -1)

    return draw.every_value(dtype).map(ordinary)


def every_code(generator: torch.Generator) -> Tensor:
    """(33, 32): in each row 448, and in random order each number of float8, the middles and what is beside them."""
    numbers = torch.arange(127, dtype=torch.uint8).view(E4M3).float()
    middles = (numbers[1:] + numbers[:-1]) / 2
    beside = (torch.nextafter(middles, torch.tensor(end)) for end in (0.0, math.inf))
    every = torch.cat((numbers, middles, *beside))[1:]
    every = torch.cat((every, -every, every[-15:]))  # of 0 the sign is not asked
    every = every[torch.randperm(len(every), generator=generator)].view(-1, 31)
    return torch.cat((torch.full((len(every), 1), LARGEST), every), 1)


TO_NEAREST = WildBug(
    who="MLX's mxfp8 on Metal and CPU until August 2026",
    thread="ml-explore/mlx#4353",
    function=wild.quantize_mx_to_nearest,
    seen_by=ANY,
    story="The exponent was round(log2(amax / 448)): down about half the time, and then the largest elements of the "
    "block lie beyond 448. They lose up to 1 - 1 / √2 = 29 %, and the cosine of all stays above .99.",
)
BY_BFLOAT16 = WildBug(
    who="torchao's largest value through bfloat16",
    thread="pytorch/ao#4725",
    function=wild.quantize_mx_by_bfloat16,
    seen_by=PAST,
    story="The largest value was rounded to bfloat16 before its exponent was taken, and some cross the border between "
    "two exponents. There the border was a power of two; here it is 1.75 times one, and 1.753 falls on it.",
)
FLOOR = CommonMistake(
    who="the exponent of the OCP's text, floor(log2 amax) - 8",
    function=wild.quantize_mx_floor,
    seen_by=ANY,
    story="Between 448 and 512 times a power of two the largest elements saturate: up to 12.5 % are lost.",
)
BY_LOGARITHM = CommonMistake(
    who="ceil(log2(amax / 448)) in float32",
    function=wild.quantize_mx_by_logarithm,
    seen_by=BORDER,
    story="One step above 448 · 2^e the logarithm rounds to e.",
)

quantize_mx = Exercise(
    name="quantize_mx",
    summary="blocks of 32 of x (M, N): e the smallest with amax <= 448 · 2^e, q = x / 2^e in float8, e + 127 as uint8",
    oracle=quantized,
    outputs=(Output("q", E4M3), Output("exponents", torch.uint8)),
    cases=(
        case(
            "ordinary values",
            "Begin here: one row of one block. Is amax <= 448 · 2^e, and not for e - 1, and e + 127 the byte? "
            + STEP_BY_STEP,
            given(1, 32),
        ),
        case(AGAIN, KEEP_NOTHING, given(1, 32)),
        case("three rows of 13 blocks", "39 blocks: does each have its own exponent?", given(3, 416)),
        case("many rows", "500 rows of one block: does each program know which blocks are left?", given(500, 32)),
        case("no rows", "M is 0: two empty tensors, of shape (0, N) and (0, N / 32).", given(0, 96)),
        case(
            "transposed", "x is transposed: a row is not contiguous in memory.", given(37, 96), x=draw.same.transposed()
        ),
        case(
            "every second column", "The stride of the last dimension is 2.", given(5, 160), x=draw.same.every_second()
        ),
        case(
            "rows with gaps",
            "Rows of 96, 129 apart in memory; NaN lies between them.",
            given(9, 96),
            x=draw.same.with_gaps(),
        ),
        case("one row at stride 0", "All rows are the first one.", given(4, 96), x=draw.same.one_row()),
        case(BEYOND, BEYOND_HINT, given(3, 64), x=draw.same.far_apart()),
        *in_halves("{}", "x is {}: convert it to float32 before anything else.", given(5, 416), "x"),
        case(
            "every float16 value",
            "All finite float16 numbers, 16 of a size in each block.",
            x=every_half(torch.float16),
        ),
        case(
            "every bfloat16 value",
            "All bfloat16 numbers from 1e-35 to 1e29, 16 of a size in each block.",
            x=every_half(torch.bfloat16),
        ),
        case(
            "every code",
            "Blocks with 448 in them, so that e is 0 and its byte 127: each number of float8, the middles between two, "
            "and numbers beside them. To the nearest, ties to even; what rounds to 0 from below is -0, 0x80.",
            x=draw.by(every_code),
            category=Category.EDGES,
        ),
        case(
            ANY,
            "Normal numbers: the largest of a block lies anywhere between two powers of two. Which e is the smallest "
            "with amax <= 448 · 2^e? The nearest one may be too small.",
            x=draw.normal(40, 512),
        ),
        case(
            BORDER,
            "The largest value is exactly 448 · 2^e, or the next float32 number, whose exponent is e + 1. No logarithm "
            "in float32 tells them apart.",
            x=draw.normal(6, 32 * 40).clamp(-5, 5).change(border),
        ),
        case(
            PAST,
            "The largest value is a little above 1.75 times a power of two, and bfloat16 has 1.75 for it.",
            x=draw.normal(4, 32 * 12).clamp(-4, 4).scale(1e-3).change(just_above),
        ),
        case(
            ZEROS,
            "The smallest e is -127, so a block of zeros has the exponent 0, as it is stored, and q is 0.",
            x=draw.full(3, 96, value=0.0),
        ),
        case(SMALL, "e is never below -127, and 2^127 is a float32 number.", x=draw.normal(16, 64).change(small)),
        case(
            BESIDE,
            "In one row: ordinary blocks, a block of 0, one of about 6.3e-38, and one with -1e-44: -0 in float8.",
            x=tame(9, 192).change(some_tiny),
        ),
        case(
            "NaN",
            "A NaN makes the exponent of its block 255, and no other; where x is NaN, q is.",
            given(6, 96),
            x=draw.same.put(torch.nan, 2, 40).put(torch.nan, 4, [0, 5]),
        ),
    ),
    tolerance=Tolerance(
        0,
        0,
        "A power of two moves no digit, and to the nearest there is one number: bits are right or wrong.",
        floor,
        float8=0,
    ),
    hint="Take the exponent from the bits of the largest value, and one more where its fraction is above 1.75.",
    wild=(TO_NEAREST, BY_BFLOAT16, FLOOR, BY_LOGARITHM),
    points=4,
    least_bytes=lambda x: x.numel() * (x.element_size() + 1) + x.numel() // 32,
    traffic=1.05,
    spills=0,
    about=POINT,
)


def dequantized(q: Tensor, e: Tensor) -> Tensor:
    """q · 2^e, in float64."""
    return torch.ldexp(blocks(q.double()), e.long()[..., None] - 127).flatten(1)


def kept(x: Tensor) -> Tensor:
    """x as float8 with a power of two for each block of 32, and back: nothing is lost but by rounding. x: (M, N), N a
    multiple of 32.
    """
    return x


def nearest_exponents(x: Tensor) -> Tensor:
    """The same with MLX's exponents."""
    return dequantized(*_to_nearest(x)).float()


def lost(x: Tensor) -> Tensor:
    """A sixteenth of each element, where the right exponent loses no more; elsewhere no loss counts."""
    room = x.abs() / 16
    return room.masked_fill((dequantized(*quantized(x)) - x).abs() > room, torch.inf)


def no_rows(x: Tensor) -> str:
    """Returns what is wrong with an input of `quantize_mx`, and with its cosine."""
    size = x.double().abs()
    if complaint := first(
        (x.dim() == 2 and x.numel() > 0 and x.shape[1] % 32 == 0, "x has to be (M, N), N a multiple of 32."),
        (
            bool(((size == 0) | (size >= 1e-38) & (size <= 1e30)).all()),
            "The size of each number has to be 0, or from 1e-38 to 1e30.",
        ),
    ):
        return complaint
    y, wide = nearest_exponents(x).double().flatten(), x.double().flatten()
    cosine = float(torch.nn.functional.cosine_similarity(y, wide, 0))
    return "" if cosine > 0.99 else f"The cosine of x and what comes back is {cosine:.4f}, and .99 is asked for."


rounding_witness = replace(
    suspect(
        kept,
        torch.float32,
        nearest_exponents,
        thread="ml-explore/mlx#4353",
        story="MLX rounded the exponent of a block to the nearest.",
        apart=lost,
        asked="6.25 % of it",
        complaint=no_rows,
        hint="How far above 448 · 2^e may the largest value lie until the nearest exponent is the next one?",
        who="the nearest exponent",
    ),
    name="rounding_witness",
    most=65536,
    summary="(x,) of which an element loses more than 6.25 % with the nearest exponent, and cosine is > .99",
)
