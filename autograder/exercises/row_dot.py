"""A matrix product whose rows do not know of each other. Case: the fused MoE kernel of sglang and vLLM."""

import torch

from ..judge import Exercise, Output, Tolerance, case, draw
from .cases.rounding import EPS, floors
from .cases.wording import AGAIN, BEYOND, BEYOND_HINT, KEEP_NOTHING, STEP_BY_STEP
from .matmul import CONVERT, STRIDES, factors, positive

ALONE = (
    "Which numbers of your launch follow M? A tile may have more rows or fewer. The block along K, and the number of "
    "parts of a sum, may not."
)

row_dot = Exercise(
    name="row_dot",
    summary="the matrix product a @ b, each row of it with the same bits whatever rows of a are beside it",
    oracle=lambda a, b: a @ b,
    outputs=(Output("c", "a"),),
    cases=(
        case(
            "ordinary values",
            "Begin here: the product of a (24, 100) and a (100, 40) matrix. " + STEP_BY_STEP,
            factors(24, 100, 40),
        ),
        case(AGAIN, KEEP_NOTHING, factors(24, 100, 40)),
        case("each row alone", ALONE, factors(300, 200, 32), each_row_alone=True),
        case(
            "positions from 2,049 on",
            "Products with 1: nothing is rounded in float32. What does `tl.dot` do with float32 unless you tell it "
            "otherwise?",
            a=draw.full(3, 1, value=1.0),
            b=draw.by(lambda generator: torch.arange(2049.0, 2249.0).unsqueeze(0)),
        ),
        case("less than a tile", "One tile, which sticks out on every side.", factors(5, 24, 9)),
        case("a row times a matrix", "M is 1: one row of the tile exists.", factors(1, 50, 70)),
        case("K is 1", "One product for each element; the rest of the inner block is masked off.", factors(33, 1, 18)),
        case("K is 0", "The sum of nothing is 0, and your kernel has to write it.", factors(5, 0, 7)),
        case("no rows", "M is 0: an empty result, and nothing to launch.", factors(0, 6, 7)),
        case("no columns", "N is 0: an empty result, and nothing to launch.", factors(5, 6, 0)),
        case("both transposed", STRIDES, factors(35, 45, 20), a=draw.same.transposed(), b=draw.same.transposed()),
        case(BEYOND, BEYOND_HINT, factors(3, 40, 20), a=draw.same.far_apart()),
        case("float16", CONVERT, factors(40, 70, 33).each(draw.same.to(torch.float16), "a", "b")),
        case(
            "infinity and NaN",
            "NaN and infinity must reach the sums they belong to and no others: are masked-off elements 0?",
            a=positive(20, 40).put(torch.nan, 3, 7).put(torch.inf, 5, 39),
            b=positive(40, 30).put(torch.nan, 0, 11).put(-torch.inf, 39, 29),
        ),
    ),
    tolerance=Tolerance(
        1,
        8,
        "An element is a float32 sum of K products: a few ulp of the sum of |a| · |b|, then one rounding at the end.",
        lambda a, b: floors(8 * EPS * (a.nan_to_num(0, 0, 0).abs() @ b.nan_to_num(0, 0, 0).abs())),
    ),
    hint="A tile of c is a sum along K. Its rows and columns may follow M and N; the order of the sum follows K alone.",
    backends=("triton",),
    points=4,
    about=("each row alone",),
)
