"""A product of int8 matrices with a scale for each group along K. Cases: vllm#49716, sglang#39626."""

import torch
from torch import Tensor

from ...kernels.wild import scaled_matmul as wild
from ..judge import Arguments, Category, CommonMistake, Exercise, Floors, Output, Tolerance, Values, WildBug, case, draw
from .cases.rounding import EPS, floors
from .cases.wording import AGAIN, BEYOND, BEYOND_HINT, KEEP_NOTHING, STEP_BY_STEP

PADDED, PADDED_B = "scales in padded pages", "scales of b in padded pages"
GROUPS_32, GROUPS_96 = "groups of 32", "groups of 96"
POINT = (PADDED, PADDED_B, GROUPS_32, GROUPS_96)
STRIDES = "Hand the strides of all four to the kernel: none of them has to be contiguous."


def scaled(a: Tensor, a_scale: Tensor, b: Tensor, b_scale: Tensor) -> Tensor:
    """Σ_g a_scale[m, g] · b_scale[g, n] · Σ_{k in g} a[m, k] b[k, n], in float64."""
    group = a.shape[1] // a_scale.shape[1]
    left = a.double() * a_scale.repeat_interleave(group, 1)
    return left @ (b.double() * b_scale.repeat_interleave(group, 0))


def floor(a: Tensor, a_scale: Tensor, b: Tensor, b_scale: Tensor) -> Floors:
    """Returns what a float32 sum of K products loses, in any order and also where each was scaled before."""
    K = a.shape[1]
    size = scaled(a.double().abs(), a_scale.nan_to_num().abs(), b.double().abs(), b_scale.nan_to_num().abs())
    return floors((K**0.5 + K / 8) * EPS * size)


def bytes_of(*sizes: int) -> Values:
    """Integers of int8, from -127 to 127."""
    return draw.integers(*sizes, low=-127, high=127).to(torch.int8)


def scales(m: int, n: int) -> Values:
    """Positive float32, each of another size."""
    return draw.uniform(m, n).map(lambda u: 0.01 * 10 ** (2 * u))


def given(m: int, k: int, n: int, group: int = 128) -> Arguments:
    """Two matrices, and a scale for each group of a row of a and of a column of b."""
    return Arguments.named(
        a=bytes_of(m, k), a_scale=scales(m, k // group), b=bytes_of(k, n), b_scale=scales(k // group, n)
    )


def many_sizes(x: Tensor) -> None:
    """Some scales 0, some below 0, and rows of 1e-18 and 1e18."""
    x[:, ::3] *= -1
    x[::4] = 0.0
    x[1::4] *= 1e-18
    x[2::4] *= 1e18


FROM_THE_SHAPE = WildBug(
    who="vLLM 0.25's Triton attention over a cache of int8",
    thread="vllm-project/vllm#49716",
    function=wild.scaled_matmul_strides_from_the_shape,
    seen_by=PADDED,
    story="The strides of the scales were worked out from the shape. In padded pages 320 of 384 scales came from wrong "
    "blocks, in compact ones none.",
)
ONE_OF_A_TILE = WildBug(
    who="sglang's product of 8-bit blocks",
    thread="sgl-project/sglang#39626",
    function=wild.scaled_matmul_one_scale_a_tile,
    seen_by=GROUPS_32,
    story="One scale was read for each tile of 64 along K, and groups of 32 were accepted: the second of two groups "
    "in a tile had the scale of the first.",
)
IN_INT8 = CommonMistake(
    who="sums of int8 numbers in int8",
    function=wild.scaled_matmul_in_int8,
    seen_by="ordinary values",
    story="A product of two int8 numbers needs 15 bits, and their sum more: what does not fit wraps around.",
)

scaled_matmul = Exercise(
    name="scaled_matmul",
    summary="the product of a (M, K) and b (K, N), both int8, with a scale of each for each group along K",
    oracle=scaled,
    outputs=(Output("c", torch.float32),),
    cases=(
        case(
            "ordinary values",
            "Begin here: (16, 128) and (128, 32), one group: one sum of integers, times two scales. " + STEP_BY_STEP,
            given(16, 128, 32),
        ),
        case(AGAIN, KEEP_NOTHING, given(16, 128, 32)),
        case("three groups", "Each group has a sum of its own, and is scaled before it is added.", given(64, 384, 64)),
        case("tiles that stick out", "37 rows and 45 columns, two groups.", given(37, 256, 45)),
        case("several tiles", "130 rows and 141 columns.", given(130, 256, 141)),
        case("groups of 256", "Groups of 256, longer than a tile of 128.", given(33, 512, 40, 256)),
        case("one row", "M is 1.", given(1, 256, 70)),
        case("one column", "N is 1.", given(70, 256, 1)),
        case("one group of 16,384", "Sums of up to 2.6e8, exact in int32.", given(2, 16384, 3, 16384)),
        case("no rows", "M is 0: an empty result, and nothing to launch.", given(0, 128, 7)),
        case("a transposed", STRIDES, given(35, 384, 20), a=draw.same.transposed()),
        case("b transposed", STRIDES, given(35, 384, 20), b=draw.same.transposed()),
        case("both scales transposed", STRIDES, given(35, 384, 20).each(draw.same.transposed(), "a_scale", "b_scale")),
        case("every second scale", STRIDES, given(18, 384, 20).each(draw.same.every_second(), "a_scale", "b_scale")),
        case(
            "one scale at stride 0",
            STRIDES,
            given(18, 256, 20),
            a_scale=draw.same.view(lambda x: x[:1, :1].expand(x.shape)),
        ),
        case(BEYOND, BEYOND_HINT, given(3, 128, 20), a=draw.same.far_apart()),
        case(
            "scales of 0, below 0, and far apart",
            "Some scales are 0 or below 0; others are around 1e18 and 1e-18.",
            given(20, 512, 24).each(draw.same.change(many_sizes), "a_scale").but(b_scale=draw.same.map(torch.neg)),
            category=Category.EDGES,
        ),
        case(
            PADDED,
            "The rows of a_scale lie in pages that are longer than a row, with NaN in their padding: ask the tensor "
            "for its strides, not its shape.",
            given(40, 256, 30),
            a_scale=draw.same.with_gaps(),
        ),
        case(
            PADDED_B,
            "The rows of b_scale lie in pages that are longer than a row, with NaN in their padding.",
            given(24, 384, 30),
            b_scale=draw.same.with_gaps(),
        ),
        case(GROUPS_32, "K / G is 32: a tile of 64 or 128 along K has several scales.", given(20, 256, 24, 32)),
        case(
            GROUPS_96,
            "K / G is 96, a multiple of 32 and no power of two: a tile of 64 reaches into the next group.",
            given(20, 288, 24, 96),
        ),
    ),
    tolerance=Tolerance(
        1,
        1,
        "A float32 sum of K products, in any order, whether each product is scaled or each group: √K + K / 8 ulp of "
        "the sum of their magnitudes, and one rounding.",
        floor,
    ),
    hint="Add the products of one group as integers, exactly; then scale, and add up the groups in float32.",
    wild=(FROM_THE_SHAPE, ONE_OF_A_TILE, IN_INT8),
    points=4,
    spills=0,
    about=POINT,
)
