"""Blocks of a row as float8 with a scale each. Cases: kernels-community#681, slime#2256, flashinfer#2440 and #5024."""

import torch
from torch import Tensor

from ...kernels.wild import quantize_blocks as wild
from ..judge import Arguments, Category, CommonMistake, Exercise, Floors, Output, Tolerance, Values, WildBug, case, draw
from .cases.halves import in_halves
from .cases.wording import AGAIN, BEYOND, BEYOND_HINT, KEEP_NOTHING, STEP_BY_STEP
from .oracles.e4m3 import LARGEST, nearest, tie

E4M3 = torch.float8_e4m3fn
ZEROS, DORMANT, UNDERFLOW = "a block of zeros", "a dormant expert", "a scale that underflows"
TINY_AND_ZERO = "zeros and tiny blocks among others"
POINT = (ZEROS, "a short block of zeros", DORMANT, UNDERFLOW, TINY_AND_ZERO)


def parts(x: Tensor, block: int) -> Tensor:
    """(M, blocks, block): the blocks of each row, zeros behind the last element."""
    M, N = x.shape
    blocks = -(-N // block)
    return torch.nn.functional.pad(x, (0, blocks * block - N)).reshape(M, blocks, block)


def whole(v: Tensor, x: Tensor) -> Tensor:
    """Blocks put together again, in the shape of x."""
    return v.flatten(1)[:, : x.shape[1]]


def scaled(x: Tensor, block: int) -> tuple[Tensor, Tensor]:
    """x / scale, not rounded, and the scale of each block; both 0 where the scale is 0 in float32."""
    v = parts(x, block)
    scale = v.abs().amax(-1) / LARGEST
    lost = scale.float() == 0
    y = (v / scale.masked_fill(lost, 1)[..., None]).clamp(-LARGEST, LARGEST).masked_fill(lost[..., None], 0)
    return whole(y, x), scale.masked_fill(lost, 0)


def quantized(x: Tensor, block: int = 128) -> tuple[Tensor, Tensor]:
    """q and scale."""
    y, scale = scaled(x, block)
    return nearest(y), scale


def floor(x: Tensor, block: int = 128) -> Floors:
    """Of q: the other neighbour at a tie; anything beside a NaN, but for the NaN itself."""
    y, scale = scaled(x, block)
    beside = scale.isnan().repeat_interleave(block, 1)[:, : x.shape[1]] & ~x.isnan()
    return tie(y).masked_fill(beside, torch.inf), 0.0


def given(m: int, n: int, block: int = 128, dtype: torch.dtype = torch.float32) -> Arguments:
    """Rows of normal numbers."""
    return Arguments.named(x=draw.normal(m, n).to(dtype), block=block)


def every_half(dtype: torch.dtype) -> Values:
    """All finite numbers of a format of 16 bits from 1e-35 to 1e30, in the order of their bits, and ones for the
    others: 512 blocks of 128, each of one size.
    """

    def ordinary(x: Tensor) -> Tensor:
        size = x.float().abs()
        return torch.where((size >= 1e-35) & (size <= 1e30), x, torch.ones_like(x)).view(128, 512)

    return draw.every_value(dtype).map(ordinary)


def sizes(m: int, low: float, high: float) -> Values:
    """Rows of four blocks of 128 normal numbers, each block times a power of ten from 10^low to 10^high."""
    factor = draw.uniform(m, 4).map(lambda u: 10 ** (low + (high - low) * u)).map(lambda f: f.repeat_interleave(128, 1))
    return draw.normal(m, 512).map(lambda x: x.clamp(-3, 3)).times(factor)


def dormant(x: Tensor) -> None:
    """Largest numbers of 1e-38 to 1e-36, of which 448 times the inverse is infinite; some elements are 0."""
    for row, largest in enumerate((6.3e-38, 1e-38, 1e-36, 1.3e-36)):
        x[row] *= largest / x[row].abs().amax()
    x[:, ::7] = 0


def some_tiny(x: Tensor) -> None:
    """A row of blocks: ordinary, 0, of 6.3e-38, of 1e-44, ordinary, and 0 again at the end."""
    v = x.view(len(x), -1, 128)
    v[:, 1], v[:, 3], v[:, 5] = 0.0, 0.0, 0.0
    v[:, 2] *= 6.3e-38 / v[:, 2].abs().amax(-1, keepdim=True)
    v[:, 3, 5] = -1e-44


NO_GUARD = WildBug(
    who="finegrained-fp8 in kernels-community, and slime's converter",
    thread="huggingface/kernels-community#681; THUDM/slime#2256",
    function=wild.quantize_blocks_without_guard,
    seen_by=ZEROS,
    story="The largest value of a block of zeros is 0, its scale is 0, and 0 / 0 is NaN. slime wrote it into "
    "checkpoints: padded rows of a vocabulary, experts that nobody asked for.",
)
WRONG_GUARD = WildBug(
    who="flashinfer's guard until February 2026, with a scale in float32,",
    thread="flashinfer-ai/flashinfer#2440",
    function=wild.quantize_blocks_guarded_by_amax,
    seen_by=UNDERFLOW,
    story="The guard asked whether the largest value is 0. It was not, and the scale was.",
)
INVERSE = WildBug(
    who="flashinfer's inverse of the scale",
    thread="flashinfer-ai/flashinfer#5024",
    function=wild.quantize_blocks_by_the_inverse,
    seen_by=DORMANT,
    story="448 / amax, in experts with float8 activations until September 2026, is infinite below 1.3e-36. A dormant "
    "expert of Qwen3.5-397B had an amax of about 6.3e-38.",
)
SCALE_OF_ONE = WildBug(
    who="Model-Optimizer's guard",
    thread="NVIDIA/Model-Optimizer#1397",
    function=wild.quantize_blocks_with_a_scale_of_one,
    seen_by=ZEROS,
    story="A scale of 0 became 1. Under a second scale, for the whole tensor, that 1 is 448 / global: beyond float8, a "
    "NaN in the checkpoint.",
)
TO_ZERO = CommonMistake(
    who="cut off instead of rounded to the nearest",
    function=wild.quantize_blocks_to_zero,
    seen_by="ordinary values",
    story="Bits that do not fit are dropped: each q is too small, by half a step on average.",
)

quantize_blocks = Exercise(
    name="quantize_blocks",
    summary="blocks of each row of x (M, N): scale = largest absolute value / 448, q = x / scale in float8; 0 / 0 is 0",
    oracle=quantized,
    outputs=(Output("q", E4M3), Output("scale", torch.float32)),
    cases=(
        case(
            "ordinary values",
            "Begin here: one row of one block. Is scale the largest absolute value of the block, over 448? "
            + STEP_BY_STEP,
            given(1, 128),
        ),
        case(AGAIN, KEEP_NOTHING, given(1, 128)),
        case(
            "three blocks and a rest",
            "Five rows of 424: three blocks and 40 numbers. The largest value of the last is that of 40 numbers.",
            given(5, 424),
        ),
        case("rows of 37", "Less than one block: the lanes behind N add nothing to the largest value.", given(9, 37)),
        case("blocks of 32", "block is an argument: here it is 32.", given(7, 160, 32)),
        case(
            "blocks of 1024",
            "block is an argument: here it is 1024, and one row has one and a half.",
            given(3, 1536, 1024),
        ),
        case("blocks longer than a row", "A block of 256, and rows of 100.", given(6, 100, 256)),
        case("many rows", "300 rows: does each program know which rows are left?", given(300, 130, 16)),
        case("one column", "Each block is one number, and q is 448 or -448.", given(30, 1, 16)),
        case(
            "blocks of many sizes",
            "Each block has its own size, from 1e-30 to 1e29: does a scale reach beyond its block, or is "
            "a small number added to it, or a floor under it?",
            x=sizes(6, -30, 29),
            category=Category.EDGES,
        ),
        case("no rows", "M is 0: two empty tensors, of shape (0, N) and (0, blocks).", given(0, 300)),
        case(
            "transposed",
            "x is transposed: a row is not contiguous in memory.",
            given(37, 290),
            x=draw.same.transposed(),
        ),
        case(
            "every second column", "The stride of the last dimension is 2.", given(5, 260), x=draw.same.every_second()
        ),
        case(
            "rows with gaps",
            "Rows of 140, 173 apart in memory; NaN lies between them.",
            given(9, 140),
            x=draw.same.with_gaps(),
        ),
        case("one row at stride 0", "All rows are the first one.", given(4, 140), x=draw.same.one_row()),
        case(BEYOND, BEYOND_HINT, given(3, 140), x=draw.same.far_apart()),
        *in_halves("{}", "x is {}: convert it to float32 before anything else.", given(5, 424), "x"),
        case(
            "every float16 value",
            "All finite float16 numbers, 128 of a size in each block.",
            x=every_half(torch.float16),
        ),
        case(
            "every bfloat16 value",
            "All bfloat16 numbers from 1e-35 to 1e30, 128 of a size in each block.",
            x=every_half(torch.bfloat16),
        ),
        case(
            ZEROS,
            "The largest value of a block of zeros is 0: scale is 0, and q is 0. What is 0 / 0?",
            x=draw.normal(5, 512).put(0.0, slice(None), slice(128, 256)).put(0.0, 3),
        ),
        case(
            "a short block of zeros",
            "The last block has 12 numbers, all of them 0.",
            x=draw.normal(4, 140).put(0.0, slice(None), slice(128, None)),
        ),
        case(
            DORMANT,
            "The largest value of a row is about 6.3e-38, an expert that hardly ever speaks. What is 448 / 6.3e-38 in "
            "float32?",
            x=draw.normal(4, 128).change(dormant),
        ),
        case(
            UNDERFLOW,
            "The largest value is 3e-43, not 0, and 3e-43 / 448 is 0 in float32. Which of the two numbers does your "
            "guard ask? scale is 0, and q is 0.",
            x=draw.full(3, 256, value=0.0).put(3e-43, slice(None), 7).put(-3e-43, 1, 200),
        ),
        case(
            TINY_AND_ZERO,
            "In one row: ordinary blocks, blocks of 0, of 6.3e-38 and of 1e-44.",
            x=draw.normal(9, 768).change(some_tiny),
        ),
        case(
            "NaN",
            "A NaN makes the scale of its block NaN, and no other; where x is NaN, q is.",
            x=draw.normal(6, 384).put(torch.nan, 2, 200).put(torch.nan, 4, [0, 5]),
        ),
    ),
    tolerance=Tolerance(
        1,
        2,
        "A division is off by half an ulp, a product with 1 / 448 by a little more than one. q is the nearest number, "
        "or one of both within a 512th of a step from their middle.",
        floor,
    ),
    hint="The largest absolute value of each block in float32, over 448; then divide by it, where it is not 0.",
    wild=(NO_GUARD, WRONG_GUARD, INVERSE, SCALE_OF_ONE, TO_ZERO),
    points=4,
    least_bytes=lambda x, block=128: x.numel() * (x.element_size() + 1) + 4 * len(x) * -(-x.shape[1] // block),
    traffic=1.05,
    spills=0,
    about=POINT,
)
